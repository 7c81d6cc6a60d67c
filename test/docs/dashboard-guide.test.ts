// @run needs=process,browser
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DASHBOARD_GUIDE, followWithService } from './follow-dashboard.ts';

test('every step of docs/dashboard.md works in a browser, and every image exists', async () => {
  const images: string[] = [];
  const done = await followWithService(readFileSync(DASHBOARD_GUIDE, 'utf8'), {
    atImage: async (path) => void images.push(path),
  });
  assert.ok(done >= 50, `the guide has ${done} sentences in steps`);
  for (const path of images) assert.ok(existsSync(new URL(path, DASHBOARD_GUIDE)), `npm run screenshots makes ${path}`);
});

test('a step that does not work, and a step that is no sentence of a guide, fail with their line', async () => {
  const guide = (step: string) => `# Guide\n\n1. Open \`http://localhost:3000/dashboard\`. ${step}\n`;
  const follow = (step: string) => followWithService(guide(step), { stepMs: 1000 });
  assert.equal(await follow('The page shows "Overview".'), 2);
  await assert.rejects(follow('The page shows "Underview".'), /^Error: line 3: The page shows "Underview"/);
  await assert.rejects(follow('Click **Refunds**.'), /^Error: line 3: Click \*\*Refunds\*\*/);
  await assert.rejects(follow('Look around.'), /^Error: line 3: no step is written "Look around"/);
});
