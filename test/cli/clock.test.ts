import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { durationText, parseDuration } from '../../src/cli/duration.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { runIn } from './terminal.ts';

describe('a duration on the command line', () => {
  for (const [text, seconds] of Object.entries({
    '90s': 90,
    '15m': 900,
    '24h': 86_400,
    '2d': 172_800,
    '1h30m': 5400,
    '1d2h3m4s': 93_784,
    ' 5M ': 300,
    '0s': 0,
  })) {
    it(`the duration ${JSON.stringify(text)} is parsed as ${seconds} s`, () =>
      assert.equal(parseDuration(text), seconds));
  }
  for (const text of ['', ' ', '30', '30m1h', '1h1h', '1.5h', '-5m', '5 m', 'soon']) {
    it(`the duration ${JSON.stringify(text)} is rejected`, () => assert.equal(parseDuration(text), undefined));
  }

  it('a duration is formatted in a form that the command line can parse', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000_000 }), (seconds) => {
        const compact = durationText(seconds).replaceAll('min', 'm').replaceAll(' ', '');
        assert.equal(parseDuration(compact), seconds);
      }),
    );
    assert.equal(durationText(5400), '1 h 30 min');
  });
});

describe('tillway clock', () => {
  let on: TestService;
  before(async () => {
    on = await startTestService({ live: true, variables: { TEST_CLOCK: 'true' } });
  });
  after(() => on[Symbol.asyncDispose]());

  const advance = (options: string) => runIn(on, 'clock', 'advance', ...options.split(' '));

  it('`tillway clock` shows the state of the clock', async () => {
    const { code, stdout, stderr } = await runIn(on, 'clock');
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^Clock {2}ready\nNow {4}\d{4}-\S+Z\nAhead {2}/);
    const json = await runIn(on, 'clock', '--json');
    assert.equal((JSON.parse(json.stdout) as { object: string }).object, 'test_clock');
  });

  it('`tillway clock` advances the clock, and shows its new time', async () => {
    const { code, stdout, stderr } = await advance('25h --json');
    assert.deepEqual([code, stderr], [0, '']);
    const { status, advancedSeconds } = JSON.parse(stdout) as { status: string; advancedSeconds: number };
    assert.deepEqual([status, advancedSeconds], ['ready', 90_000]);
    assert.match((await advance('1s')).stdout, /^Clock {2}ready\nNow {4}\S+\nAhead {2}1 d 1 h/);
  });

  it('`tillway clock` rejects an invalid duration', async () => {
    const REFUSED: [time: string, code: number, message: RegExp][] = [
      ['1x', 2, /^tillway: expected a time such as 90s, 24h, 2d or 1h30m, not "1x"\n/],
      ['0s', 1, /^tillway: seconds: must be a whole number of 1 to 2592000, not 0\./],
      ['31d', 1, /^tillway: seconds: must be a whole number of 1 to 2592000, not 2678400\./],
      ['--foward', 2, /unknown option '--foward'/],
    ];
    for (const [time, code, message] of REFUSED) {
      const refused = await advance(time);
      assert.equal(refused.code, code);
      assert.match(refused.stderr, message);
    }
  });
});
