import { openStore } from '../../../src/store/open.ts';
import { serveWith } from '../server-with.ts';

// The planted fault: time is what the machine says, and not what the database says.
await serveWith({
  async openStore(database, options) {
    const store = await openStore(database, options);
    return { ...store, now: () => Date.now() };
  },
});
