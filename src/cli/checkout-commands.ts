import type { Command } from 'commander';
import type { CheckoutResult, Environment, FeeSplit, FeesEstimate, RouteSummary } from '../../sdk/src/index.ts';
import { type Acted, act } from './actions.ts';
import {
  type CommandContext,
  type CommandDescription,
  type Paint,
  usualEnvironment,
  serviceCommand,
} from './command-context.ts';
import { commandGroup } from './command-group.ts';
import {
  amountOf,
  amountOption,
  environmentOption,
  kindOption,
  metadataOption,
  option,
  usualEnvironmentOption,
} from './options.ts';
import { dollars, plain, rate } from './cells.ts';

interface CheckoutOptions {
  kind?: RouteSummary['kind'];
  reference?: string;
}

export function checkoutCommand(context: CommandContext): Command {
  const example = '--product "Field guide" --amount 49.99 --customer buyer@example.com';
  const create = checkout(context, 'create', {
    summary: 'Create a checkout and print the URL for the buyer',
    details: 'With --idempotency-key the command can be repeated safely: it returns the first checkout.',
    examples: [
      `tillway checkout create ${example}`,
      `tillway checkout create ${example} --metadata orderId=A-1001 --idempotency-key order-A-1001`,
    ],
  });
  const preview = checkout(context, 'preview', {
    summary: 'Show the route and fees of a checkout without creating it',
    examples: [`tillway checkout preview ${example}`, `tillway checkout preview ${example} --kind local --json`],
  });
  return commandGroup('checkout', 'Create or preview a checkout', [create, preview]);
}

function checkout(context: CommandContext, name: 'create' | 'preview', description: CommandDescription): Command {
  return serviceCommand(context, name, {
    ...description,
    options: [
      option('--product <text>', 'product name').makeOptionMandatory(),
      amountOption('--amount', 'US dollars, not cents: 49.99').makeOptionMandatory(),
      option('--customer <email>', 'email address of the buyer').makeOptionMandatory(),
      kindOption('the preferred payment method'),
      option('--redirect-url <url>', 'return URL of the buyer'),
      metadataOption(),
      option('--idempotency-key <key>', 'unique key of this request, 8 to 120 characters'),
      option('--reference <text>', 'your own id of the order'),
      environmentOption('default: sandbox (test money)'),
    ],
    ask: (client, { kind: preferredRoute, reference: clientReferenceId, ...order }: CheckoutOptions) =>
      act<CheckoutResult>(client, `checkout.${name}`, { ...order, preferredRoute, clientReferenceId }),
    show: showCheckout,
  });
}

function showCheckout({ result }: Acted<CheckoutResult>, paint: Paint): string {
  const { id, product, amount, customer, checkoutUrl, dryRun, environment, route, feeSplit } = result;
  const order = `${plain(product)} for ${plain(customer)}, ${dollars(amount)}`;
  const money = environment === 'sandbox' ? 'test money' : 'real money';
  const warning = route.health === 'standby' ? `\n${tellStandby(route, environment, paint)}` : '';
  const fees = `${routeWords(route, paint)}\n\n${tellFees(feeSplit, route, paint)}${warning}`;
  if (dryRun) return `${paint('bold', 'Preview, nothing was created:')} ${order} (${money})\n${fees}`;
  return [
    `${paint('green', 'Checkout created:')} ${order} (${money})\n`,
    `Send the buyer here to pay:\n\n  ${paint(['bold', 'cyan'], plain(checkoutUrl))}\n\n`,
    fees,
    `\nSee the payment outcome: tillway sessions get ${plain(id)}\n`,
  ].join('');
}

/** Warning about the best route of a checkout if even that route takes no payments. */
function tellStandby({ label }: RouteSummary, environment: Environment, paint: Paint): string {
  const warning = `${plain(label)} takes no payments now: without another route, the buyer cannot pay.`;
  return `${paint('yellow', warning)}\nSee the reason: tillway routes list --environment ${plain(environment)}\n`;
}

interface FeesOptions {
  kind?: RouteSummary['kind'];
  route?: string;
  environment?: Environment;
}

export function feesCommand(context: CommandContext): Command {
  return serviceCommand(context, 'fees <amount>', {
    summary: 'Show the fee split for an amount',
    details: 'The amount is in US dollars, not cents.',
    examples: ['tillway fees 49.99', 'tillway fees 49.99 --kind wallet', 'tillway fees 1200 --json'],
    options: [
      kindOption('the preferred payment method'),
      option('--route <id>', 'calculate the fees of this route'),
      usualEnvironmentOption(),
    ],
    ask: (client, { kind, route, environment = usualEnvironment(context) }: FeesOptions, text) =>
      act<FeesEstimate>(client, 'fees.estimate', {
        amount: amountOf('amount', text),
        preferredRoute: kind,
        routeId: route,
        environment,
      }),
    show: ({ result: { route, feeSplit } }, paint) =>
      `${routeWords(route, paint)}\n\n${tellFees(feeSplit, route, paint)}`,
  });
}

const AMOUNT_WIDTH = 16;

/** The fee split as text: one line per part, with aligned amounts. */
function tellFees(fees: FeeSplit, route: RouteSummary, paint: Paint): string {
  const lines: [name: string, amount: number, rate?: number][] = [
    ['Buyer pays', fees.total],
    ...(fees.buyerFee > 0 ? [['  buyer fee', fees.buyerFee, route.buyerFeeRate] as [string, number, number]] : []),
    ['Gateway keeps', fees.gatewayFee, route.gatewayFeeRate],
    ['You get', fees.merchantNet],
  ];
  const parts = lines.map(([name, amount, share]) => {
    const text = dollars(amount).padStart(AMOUNT_WIDTH);
    const value = name === 'You get' ? paint('bold', text) : text;
    return `${paint('dim', name.padEnd(14))}${value}${share === undefined ? '' : paint('dim', `  ${rate(share)}`)}\n`;
  });
  return parts.join('');
}

/** Label, id and duration of a route: `Card, simulated acquirer  sandbox_card_acquirer, instant`. */
function routeWords(route: RouteSummary, paint: Paint): string {
  return `${plain(route.label)}  ${paint('dim', `${plain(route.id)}, ${plain(route.eta)}`)}`;
}
