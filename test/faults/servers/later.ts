import { serveOver } from '../server-with.ts';

// Two minutes later, whichever clock the database goes by: what a killed process had claimed is free again.
const LATER_MS = 120_000;

await serveOver((store) => {
  return { now: () => store.now() + LATER_MS };
});
