import type { Command } from 'commander';
import { type CommandContext, describedCommand } from '../context.ts';
import { EVENT_TYPES, environmentOption } from '../values.ts';
import { type ListenOptions, signingSecretOf, targetOf, typesOf } from './settings.ts';

/** `listen`: prints events as they happen, and forwards them signed, until it is interrupted. */
export function listenCommand(context: CommandContext): Command {
  const command = describedCommand('listen', {
    summary: 'Print each event as it happens, and forward it to your own machine',
    details:
      'Forwards as the service delivers: the same bytes, headers and order, signed with a secret that is printed at the ' +
      'start. No endpoint is registered, and nothing has to reach this machine from outside. Only 200 counts as received; ' +
      'otherwise it is tried again after 1, 5, 15 and 30 s. Redirects are not followed, and an answer may take 15 s.\n\n' +
      'What happened before the start, and what was given up, is not forwarded by itself: --since goes back to it, and ' +
      'then on with what happens. Your server may so get an event twice, as it may from the service.',
    examples: [
      'tillway listen',
      'tillway listen --forward-to http://127.0.0.1:4000/webhooks',
      'tillway listen --since 15m --forward-to http://127.0.0.1:4000/webhooks',
      'tillway listen --events payment.paid,payment.failed --json',
    ],
    data: 'print a JSON document a line, for programs',
    lines: true,
  })
    .option('--forward-to <url>', 'where each event is posted')
    .option('--events <types>', `only these, separated by commas: ${EVENT_TYPES.join(', ')}`)
    .option('--since <event|time>', 'begin with what is there: from this event on, or of the last 15m')
    .option('--secret <secret>', 'what to sign with: whsec_ and base64; default WEBHOOK_SECRET, else made anew')
    .addOption(environmentOption('only events of sandbox or of production; left out, both'));

  return command.action(async (given: ListenOptions) => {
    const { terminal } = context;
    const options: ListenOptions = { ...given, ...(given.forwardTo && { forwardTo: targetOf(given.forwardTo) }) };
    const types = typesOf(options.events);
    const secret = signingSecretOf(options, terminal);
    // Loaded here: no other command needs what delivers webhooks.
    const [{ createDeliverer }, { createResolve }, { createListening }, { jsonLines, words }] = await Promise.all([
      import('../../webhooks/deliver.ts'),
      import('../../webhooks/address.ts'),
      import('./listening.ts'),
      import('./words.ts'),
    ]);
    const said = context.isJson(command) ? jsonLines() : words(context.paint(command));
    const deliverer = createDeliverer({ targets: 'any', resolve: createResolve(), now: terminal.now });
    const listening = createListening({
      terminal,
      client: context.client(command),
      url: context.urlOf(command),
      options,
      types,
      secret,
      said,
      deliverer,
    });
    try {
      await listening.run();
    } finally {
      await deliverer.close();
    }
    terminal.write(said.ended(listening.counts()));
  });
}
