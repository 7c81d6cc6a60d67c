import type { Command } from 'commander';
import type { CheckoutResult, Environment, RouteKind } from '../../sdk/src/index.ts';
import { act, routeWords, tellFees } from './actions.ts';
import { type CommandContext, type CommandDescription, type Paint, describedCommand } from './context.ts';
import { commandGroup } from './group.ts';
import { amountOf, environmentOption, kindOption, metadataOption, pairsOf } from './values.ts';
import { dollars, plain } from './words.ts';

interface CheckoutOptions {
  product: string;
  amount: string;
  customer: string;
  kind?: RouteKind;
  redirectUrl?: string;
  metadata: string[];
  idempotencyKey?: string;
  reference?: string;
  environment?: Environment;
}

export function checkoutCommand(context: CommandContext): Command {
  const example = '--product "Field guide" --amount 49.99 --customer buyer@example.com';
  const create = checkout(context, 'create', {
    summary: 'Create a checkout and print the URL for the buyer',
    details: 'With --idempotency-key the same command can be sent again: it answers the first checkout.',
    examples: [
      `tillway checkout create ${example}`,
      `tillway checkout create ${example} --metadata orderId=A-1001 --idempotency-key order-A-1001`,
    ],
  });
  const preview = checkout(context, 'preview', {
    summary: 'Show route and fees of a checkout, and create nothing',
    examples: [`tillway checkout preview ${example}`, `tillway checkout preview ${example} --kind local --json`],
  });
  return commandGroup('checkout', 'Create or preview a checkout', [create, preview]);
}

function checkout(context: CommandContext, name: 'create' | 'preview', description: CommandDescription): Command {
  const command = describedCommand(name, description)
    .requiredOption('--product <text>', 'what is sold')
    .requiredOption('--amount <number>', 'US dollars, not cents: 49.99')
    .requiredOption('--customer <email>', "the buyer's email address")
    .addOption(kindOption('the way to pay to prefer'))
    .option('--redirect-url <url>', 'where the buyer returns')
    .addOption(metadataOption())
    .option('--idempotency-key <key>', 'your key of this order, 8 to 120 characters')
    .option('--reference <text>', 'your own id of the order')
    .addOption(environmentOption('default: sandbox, which is test money'));
  return command.action(async (options: CheckoutOptions) => {
    const { product, amount, customer, kind, redirectUrl, metadata, idempotencyKey, reference, environment } = options;
    const body = {
      product,
      amount: amountOf('--amount', amount),
      customer,
      preferredRoute: kind,
      redirectUrl,
      metadata: pairsOf('--metadata', metadata),
      idempotencyKey,
      clientReferenceId: reference,
      environment,
    };
    const answer = await act<CheckoutResult>(context.client(command), `checkout.${name}`, body);
    context.tell(command, answer, ({ result }, paint) => tellCheckout(result, paint));
  });
}

function tellCheckout(result: CheckoutResult, paint: Paint): string {
  const { id, product, amount, customer, checkoutUrl, dryRun, environment, route, feeSplit } = result;
  const what = `${plain(product)} for ${plain(customer)}, ${dollars(amount)}`;
  const money = environment === 'sandbox' ? 'test money' : 'real money';
  const fees = `${routeWords(route, paint)}\n\n${tellFees(feeSplit, route, paint)}`;
  if (dryRun) return `${paint('bold', 'Preview, nothing was created:')} ${what} (${money})\n${fees}`;
  return [
    `${paint('green', 'Checkout created:')} ${what} (${money})\n`,
    `Send the buyer here to pay:\n\n  ${paint(['bold', 'cyan'], plain(checkoutUrl))}\n\n`,
    fees,
    `\nSee what becomes of it: tillway sessions get ${plain(id)}\n`,
  ].join('');
}
