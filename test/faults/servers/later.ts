import { openStore } from '../../../src/store/open.ts';
import { serveWith } from '../server-with.ts';

// Two minutes later, whichever clock the database goes by: what a killed process had claimed is free again.
const LATER_MS = 120_000;

await serveWith({
  async openStore(database, options) {
    const store = await openStore(database, options);
    return { ...store, now: () => store.now() + LATER_MS };
  },
});
