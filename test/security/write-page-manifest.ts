import { writeFileSync } from 'node:fs';
import { fetchPage } from '../../src/cli/verify-page/verify-page-command.ts';
import { observePage } from '../../src/cli/verify-page/page-manifest.ts';
import { startTestService } from '../support/service.ts';

// Writes the manifest for `tillway verify-page`. Run `node test/security/write-page-manifest.ts` after a change of the checkout page.

await using tillway = await startTestService();
const manifest = await observePage(tillway.url, fetchPage);
const file = new URL('../../src/checkout/page-manifest.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
