import type { Command } from 'commander';
import type { TestClock } from '../../sdk/src/index.ts';
import { type CommandContext, CommandError, type Paint, describedCommand, serviceCommand } from './command-context.ts';
import { durationOf, durationText } from './duration.ts';
import { commandGroup } from './command-group.ts';
import { nameValueLines } from './table.ts';
import { type Cell, secondsOf } from './cells.ts';

/** Largest advance that the service accepts, repeated here so that the command need not load the service's schemas. */
export const MAX_ADVANCE_SECONDS = 2_592_000;
const MAX_ADVANCE = durationText(MAX_ADVANCE_SECONDS).replace(' ', '');
const POLL_MS = 200;

/** The `clock` commands, which show and advance the test clock of a service. */
export function clockCommand(context: CommandContext): Command {
  const show = serviceCommand(context, 'show', {
    summary: 'Show the time of the test clock',
    details: 'The service must run with TEST_CLOCK=true.',
    examples: ['tillway clock'],
    ask: ({ testClock }) => testClock.get(),
    show: showClock,
  });
  return commandGroup('clock', 'Show or advance the test clock of a sandbox service', [show, advanceCommand(context)], {
    otherwise: 'show',
  });
}

function advanceCommand(context: CommandContext): Command {
  const command = describedCommand('advance <time>', {
    summary: 'Move the test clock forward',
    details:
      'Work that becomes due runs in order: sessions expire, payments time out, callbacks arrive, and ' +
      `webhooks are retried. Durations have the format 90s, 15m, 24h, 2d or 1h30m, at most ${MAX_ADVANCE}. The clock ` +
      'never moves backwards.',
    examples: ['tillway clock advance 24h', 'tillway clock advance 1h30m'],
    data: 'print JSON, for programs',
  });
  return command.action(async (time: string) => {
    const seconds = durationOf(time);
    if (seconds === 0) throw new CommandError(2, 'advance the clock by at least 1s');
    if (seconds > MAX_ADVANCE_SECONDS) {
      throw new CommandError(2, `advance the clock by at most ${MAX_ADVANCE} at a time, not by ${time}`);
    }
    const client = context.client(command);
    let clock = await client.testClock.advance({ seconds });
    while (clock.status !== 'ready') {
      await context.terminal.sleep(POLL_MS);
      clock = await client.testClock.get();
    }
    context.tell(command, clock, showClock);
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
