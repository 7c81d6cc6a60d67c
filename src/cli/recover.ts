import type { Command } from 'commander';
import type { Recovery } from '../../sdk/src/index.ts';
import { type CommandContext, type Paint, describedCommand } from './context.ts';
import { facts } from './table.ts';
import { timeOption } from './values.ts';
import { type Cell, secondsOf } from './words.ts';

const ENDPOINT = 'whe_01m7x0c2r5v8y1b4e7h0k3n6q9t2w5z8a1d4';
const RECOVERY = 'rcv_01m7x0ea1c5v8y1b4e7h0k3n6q9t2w5z8a1d';

/** `endpoints recover`: sends an endpoint what it has missed of a time. */
export function recoverCommand(context: CommandContext): Command {
  const recover = describedCommand('recover <endpoint>', {
    summary: 'Send an endpoint every event of a time that it has not acknowledged',
    details:
      'Each event once, in the order in which they happened. One that fails is tried again as always, and does not hold ' +
      'the others up. Asking twice sends nothing twice.',
    examples: [
      `tillway endpoints recover ${ENDPOINT} --from 2026-01-15T06:00:00Z`,
      `tillway endpoints recover ${ENDPOINT} --from 2026-01-15T06:00:00Z --until 2026-01-15T09:30:00Z --all`,
    ],
  });
  recover
    .addOption(timeOption('--from', 'events made then or later').makeOptionMandatory())
    .addOption(timeOption('--until', 'events made before; default now'))
    .option('--all', 'also what the endpoint has acknowledged');
  recover.action(async (id: string, { from, until, all }: { from: string; until?: string; all?: boolean }) => {
    const client = context.client(recover);
    const answer = await client.webhookEndpoints.recover(id, { from, until, all });
    context.tell(recover, answer, tellRecovery);
  });
  return recover;
}

/** `endpoints recovery`: how far a recovery has got. */
export function recoveryCommand(context: CommandContext): Command {
  const command = describedCommand('recovery <recovery>', {
    summary: 'Show how far a recovery has got',
    examples: [`tillway endpoints recovery ${RECOVERY}`],
  });
  return command.action(async (id: string) =>
    context.tell(command, await context.client(command).webhookEndpoints.recovery(id), tellRecovery),
  );
}

const STATUS: Record<Recovery['status'], Cell> = {
  running: { text: 'running: it goes on by itself', style: 'yellow' },
  done: { text: 'done: all events of that time were looked at', style: 'green' },
  stopped: { text: 'stopped: the endpoint takes no events', style: 'red' },
};

function tellRecovery({ id, endpointId, from, until, status, ...counts }: Recovery, paint: Paint): string {
  const about: [string, Cell | null][] = [
    ['Recovery', id],
    ['Status', STATUS[status]],
    ['Endpoint', endpointId],
    ['From', secondsOf(from)],
    ['Until', secondsOf(until)],
    ['Sent', `${counts.queued}, one after the other`],
    ['Pending', `${counts.pending}, left to their own time`],
    ['Delivered', `${counts.delivered}, left`],
  ];
  return facts(about, paint);
}
