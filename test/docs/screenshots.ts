import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Follower } from './browser-guide.ts';
import { DASHBOARD_GUIDE, followWithService } from './follow-dashboard.ts';

// `npm run screenshots`: follows docs/dashboard.md, and writes the images that it names. An image `*-phone.png` shows a phone.

const PHONE = { width: 360, height: 740 };
const MAX_BYTES = 150_000;
const DAYS = 6;

/** Sales of the days before, so that the overview shows a usual week. A test clock moves the time. */
const DAY = `
pids=""
sell() { tillway trigger "$1" --product "$2" --amount "$3" --customer "$4" --json > /dev/null & pids="$pids $!"; }
finish() { for pid in $pids; do wait "$pid"; done; pids=""; }
sell payment.paid "Field guide to birds" 49.99 "mia.$1@example.com"
sell payment.paid.after_decline "Binoculars 8x42" 189 "noah.$1@example.com"
sell payment.paid "Bird feeder" "$((20 + $1 * 7)).50" "lena.$1@example.com"
finish
sell payment.paid "Guided walk for two" 120 "omar.$1@example.com"
sell payment.paid "Nest box" "$((30 + $1 % 3 * 25))" "iris.$1@example.com"
[ $(($1 % 3)) -eq 1 ] && sell payment.failed.provider_error "Spotting scope" 640 "paul.$1@example.com"
[ $(($1 % 2)) -eq 0 ] && sell payment.failed "Rain cover" 45 "tara.$1@example.com"
finish
tillway clock advance 1d > /dev/null
`;

async function sellBefore({ run }: Follower): Promise<void> {
  for (let day = 1; day <= DAYS; day++) await run(`set -- ${day}\n${DAY}`);
}

async function takePicture(path: string, page: Follower['page']): Promise<void> {
  const file = fileURLToPath(new URL(path, DASHBOARD_GUIDE));
  mkdirSync(dirname(file), { recursive: true });
  const usual = page.viewportSize()!;
  if (path.endsWith('-phone.png')) await page.setViewportSize(PHONE);
  await page.screenshot({ path: file, animations: 'disabled' });
  await page.setViewportSize(usual);
  const { size } = statSync(file);
  process.stdout.write(`${path}: ${size} bytes\n`);
  if (size > MAX_BYTES) throw new Error(`${path} has more than ${MAX_BYTES} bytes`);
}

await followWithService(undefined, {
  variables: { TEST_CLOCK: 'true', MERCHANT_NAME: 'Birdwatch Shop' },
  prepare: sellBefore,
  atImage: takePicture,
});
