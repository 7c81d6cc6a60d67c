import type { Command } from 'commander';
import type { Environment, FeesEstimate, RouteKind } from '../../sdk/src/index.ts';
import { act, routeWords, tellFees } from './actions.ts';
import { type CommandContext, usualEnvironment } from './command-context.ts';
import { serviceCommand } from './service-command.ts';
import { amountOf, kindOption, option, usualEnvironmentOption } from './options.ts';

interface FeesOptions {
  kind?: RouteKind;
  route?: string;
  environment?: Environment;
}

export function feesCommand(context: CommandContext): Command {
  return serviceCommand(context, 'fees <amount>', {
    summary: 'Show who pays what for an amount',
    details: 'The amount is in US dollars, not cents.',
    examples: ['tillway fees 49.99', 'tillway fees 49.99 --kind wallet', 'tillway fees 1200 --json'],
    options: [
      kindOption('the way to pay to prefer'),
      option('--route <id>', 'exactly this route'),
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
