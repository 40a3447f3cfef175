"""Scenarios of ASlib, written by hand."""

import gzip

DESCRIPTION = """# of the toy
scenario_id: 'TOY: 1'
performance_measures:
    - runtime
    - quality
maximize: [false, true]
performance_type:
- runtime
- solution_quality
algorithm_cutoff_time: 100   # seconds
algorithm_cutoff_memory: ?
features_cutoff_time: '?'
default_steps: [base]
number_of_feature_steps: 2
feature_steps:
  base:
    provides: [size, kind]
  "probing, long":
    requires:
    - base
    provides:
    - slope
metainfo_algorithms:
  MZN/x-free:
    configuration: "-a 1
      : more"
    deterministic: true
  'b solver':
    configuration: ''
  local:
    configuration: ''
"""
IDS = "@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n"
RUNS = f"""@RELATION runs
{IDS}@ATTRIBUTE algorithm STRING
@ATTRIBUTE runtime NUMERIC
@ATTRIBUTE quality NUMERIC
@ATTRIBUTE runstatus {{ok, timeout, memout, not_applicable, crash, other}}
@DATA
% instances and algorithms in no order
'two, big',1,local,30,0.5,ok
one,1,local,100,0,timeout
one,1,MZN/x-free,2.5,1,ok
'two, big',1,MZN/x-free,100,0.25,memout
three,1,"b solver",7,3,ok
one,1,"b solver",100,0,crash
'two, big',1,"b solver",4,1,ok
three,1,MZN/x-free,100,2,ok
three,1,local,1,2,not_applicable
"""
FEATURES = f"""@RELATION features
{IDS}@ATTRIBUTE size NUMERIC
@ATTRIBUTE kind {{sat, 'un sat'}}
@ATTRIBUTE slope REAL
@DATA
three,1,30,'un sat',?
one,1,10,sat,0.5
'two, big',1,20,sat,-1
"""
STATUS = f"""@RELATION status
{IDS}@ATTRIBUTE base {{ok,timeout,crash}}
@ATTRIBUTE 'probing, long' {{ok,timeout,presolved}}
@DATA
one,1,ok,presolved
'two, big',1,ok,ok
three,1,ok,timeout
"""
COSTS = f"""@RELATION costs
{IDS}@ATTRIBUTE base NUMERIC
@DATA
one,1,99.5
'two, big',1,2
three,1,1
"""
CV = f"""@RELATION cv
{IDS}@ATTRIBUTE fold NUMERIC
@DATA
'two, big',1,2
one,2,9
three,1,1
one,1,1
'two, big',2,9
three,2,9
"""
FILES = {
    "description.txt": DESCRIPTION,
    "algorithm_runs.arff": RUNS,
    "feature_values.arff": FEATURES,
    "feature_runstatus.arff": STATUS,
    "feature_costs.arff": COSTS,
    "cv.arff": CV,
}


def write_scenario(folder, gzipped=(), **changed):
    """Write the toy; ``runs=`` and the like replace a file, None leaves it out."""
    short = {
        "description": "description.txt",
        "runs": "algorithm_runs.arff",
        "features": "feature_values.arff",
        "status": "feature_runstatus.arff",
        "costs": "feature_costs.arff",
        "cv": "cv.arff",
    }
    folder.mkdir(exist_ok=True)
    for key, name in short.items():
        text = changed.get(key, FILES[name])
        if text is None:
            continue
        if key in gzipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / name).write_text(text)
    return folder
