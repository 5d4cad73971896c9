"""A controller that scans again and again, until somebody ends it.

python scanning_controller.py PID
"""

import sys

import jvmti

with jvmti.attach(int(sys.argv[1])) as vm:
    print("attached", flush=True)
    while True:
        scan = vm.heap.scan(strings=True, fields=True, arrays=True)
        scan.live(range(min(len(scan), 1000)))
        vm.find_class("java.lang.String").instances(limit=1000)
        print(len(scan), flush=True)
