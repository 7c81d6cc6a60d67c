// @run needs=process
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { nextDay, startOfDay } from '../../src/domain/reporting-time.ts';

const HOUR = 3_600_000;
const at = (text: string) => Date.parse(text);

/** Local days: the zone, a time in the day, the start of the day, and the length of the day in hours. */
const DAYS: [zone: string, time: string, start: string, hours: number][] = [
  ['UTC', '2026-03-29T23:59:59.999Z', '2026-03-29T00:00Z', 24],
  ['Europe/Berlin', '2026-03-29T12:00Z', '2026-03-28T23:00Z', 23],
  ['Europe/Berlin', '2026-10-25T12:00Z', '2026-10-24T22:00Z', 25],
  ['America/New_York', '2026-11-02T04:59Z', '2026-11-01T04:00Z', 25],
  ['Asia/Kathmandu', '2026-05-01T18:14Z', '2026-04-30T18:15Z', 24],
  // Clocks go forward at midnight, so the day begins at 1:00.
  ['Africa/Cairo', '2026-04-24T12:00Z', '2026-04-23T22:00Z', 23],
  ['Australia/Lord_Howe', '2026-10-04T06:00Z', '2026-10-03T13:30Z', 23.5],
];

describe('local days', () => {
  for (const [zone, time, start, hours] of DAYS) {
    test(`the day of ${time} in ${zone} begins at ${start} and has ${hours} hours`, () => {
      assert.equal(new Date(startOfDay(at(time), zone)).toISOString(), new Date(start).toISOString());
      assert.equal(nextDay(at(time), zone) - startOfDay(at(time), zone), hours * HOUR);
    });
  }

  test('days are the same on a Node without Temporal', () => {
    const program = `import { nextDay, startOfDay } from './src/domain/reporting-time.ts';
      const days = ${JSON.stringify(DAYS)}.map(([zone, time]) => [startOfDay, nextDay].map((of) => of(Date.parse(time), zone)));
      console.log(JSON.stringify([typeof Temporal, days]));`;
    const options = ['--no-harmony-temporal', '--input-type=module-typescript', '--eval', program];
    const root = new URL('../../', import.meta.url);
    const found = JSON.parse(execFileSync(process.execPath, options, { cwd: root, encoding: 'utf8' })) as unknown;
    const expected = DAYS.map(([zone, time]) => [startOfDay, nextDay].map((of) => of(at(time), zone)));
    assert.deepEqual(found, ['undefined', expected]);
  });
});
