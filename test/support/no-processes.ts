import childProcess, { ChildProcess } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

// A preload of test processes whose files do not declare that they start other processes.

function refuse(): never {
  throw new Error('this test file starts a process: its first line must declare `needs=process` (see test/run.ts)');
}

Object.assign(ChildProcess.prototype, { spawn: refuse });
Object.assign(childProcess, { spawnSync: refuse, execSync: refuse, execFileSync: refuse });
syncBuiltinESMExports();
