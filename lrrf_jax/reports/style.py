"""How pages look: on a screen, on a narrow one, and printed in black and white."""

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem; max-width: 70rem; background: #fff; color: #1a1a1a;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
h1, h2, h3 { line-height: 1.2; }
h1 { font-size: 1.9rem; margin: 0 0 .3rem; }
h2 { font-size: 1.4rem; margin: 2.4rem 0 .8rem; padding-bottom: .2rem;
  border-bottom: 2px solid #1a1a1a; }
h3 { font-size: 1.1rem; margin: 1.6rem 0 .6rem; }
p, li, dd { max-width: 48rem; }
a { color: #004f8f; }
:focus-visible { outline: 3px solid #004f8f; outline-offset: 2px; }
nav ul { padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; }
.note { padding: .5rem .9rem; border-left: 4px solid #555; background: #f2f2f2; }
.failed { border-left-color: #a40000; }
.scroll { overflow-x: auto; margin: 1rem 0 1.6rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
caption span { display: block; position: sticky; left: 0;
  max-width: min(48rem, calc(100vw - 3rem)); }
th, td { padding: .28rem .6rem; text-align: left; vertical-align: baseline;
  border-bottom: 1px solid #c9c9c9; }
thead th { border-bottom: 2px solid #1a1a1a; vertical-align: bottom; }
tbody th { font-weight: 500; }
tfoot th, tfoot td { border-bottom: 0; }
tfoot tr:first-child > * { border-top: 2px solid #1a1a1a; }
th, td { overflow-wrap: break-word; }
dd { overflow-wrap: anywhere; }
.number { text-align: right; white-space: nowrap; }
.number small { display: block; }
small { color: #555; font-size: .82em; }
figure { margin: 1rem 0 1.8rem; }
figure img { max-width: 100%; height: auto; }
figcaption { color: #444; font-size: .9rem; max-width: 48rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.4rem; }
dt { font-weight: 600; }
dd { margin: 0; }
code { font: .92em/1.5 ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
footer { margin-top: 3rem; border-top: 1px solid #c9c9c9; color: #555; font-size: .9rem; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .5rem; } }
@media print {
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  nav { display: none; }
  a { color: inherit; text-decoration: none; }
  h2, h3, caption { break-after: avoid; }
  tr, figure, caption, caption span { break-inside: avoid; }
  tfoot { display: table-row-group; } /* else it is repeated on every sheet */
  .scroll { overflow: visible; }
  .note { background: none; }
  table { font-size: 8pt; }
  th, td { padding: .12rem .35rem; }
}
"""
