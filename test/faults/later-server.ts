import { serveWith } from './server-with.ts';

// Two minutes later: what a killed process had claimed is free to be taken up again.
const LATER_MS = 120_000;

await serveWith({ clock: { now: () => Date.now() + LATER_MS } });
