import type { Command } from 'commander';
import type { TestClock } from '../../sdk/src/index.ts';
import { type CommandContext, type Paint, serviceCommand } from './command-context.ts';
import { durationOf, durationText } from './duration.ts';
import { commandGroup } from './command-group.ts';
import { nameValueLines } from './table.ts';
import { type Cell, secondsOf } from './cells.ts';

/** The `clock` commands, which show and advance the test clock of a service. */
export function clockCommand(context: CommandContext): Command {
  const show = serviceCommand(context, 'show', {
    summary: 'Show the time of the test clock',
    details: 'The service must run with TEST_CLOCK=true.',
    examples: ['tillway clock'],
    ask: ({ testClock }) => testClock.get(),
    show: showClock,
  });
  const advance = serviceCommand(context, 'advance <time>', {
    summary: 'Move the test clock forward',
    details:
      'Work that becomes due runs in order: sessions expire, payments time out, callbacks arrive, and ' +
      'webhooks are retried. Durations have the format 90s, 15m, 24h, 2d or 1h30m, at most 30d. The clock ' +
      'never moves backwards.',
    examples: ['tillway clock advance 24h', 'tillway clock advance 1h30m'],
    async ask({ testClock }, _options, time: string) {
      await testClock.advance({ seconds: durationOf(time) });
      return testClock.ready();
    },
    show: showClock,
  });
  return commandGroup('clock', 'Show or advance the test clock of a sandbox service', [show, advance], {
    otherwise: 'show',
  });
}

function showClock({ status, now, target, advancedSeconds }: TestClock, paint: Paint): string {
  const pairs: [string, Cell | null][] = [
    ['Clock', { text: status, style: status === 'ready' ? 'green' : 'yellow' }],
    ['Now', secondsOf(now)],
    ['Until', target === null ? null : secondsOf(target)],
    ['Ahead', advancedSeconds === 0 ? 'not at all' : `${durationText(advancedSeconds)} of the real time`],
  ];
  return nameValueLines(pairs, paint);
}
