import childProcess, { ChildProcess } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

// Preload for test files without `needs=process`: every attempt to start a process throws.

function refuse(): never {
  throw new Error('this test file starts a process: its first line must declare `needs=process` (see test/run.ts)');
}

Object.assign(ChildProcess.prototype, { spawn: refuse });
Object.assign(childProcess, { spawnSync: refuse, execSync: refuse, execFileSync: refuse });
syncBuiltinESMExports();
