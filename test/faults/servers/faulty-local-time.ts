import { serveOver } from '../server-with.ts';

// The injected fault: the clock of the machine in place of the clock of the database.
await serveOver(() => ({ now: () => Date.now() }));
