import type { Command } from 'commander';
import type { Environment, FeesEstimate, RouteKind } from '../../sdk/src/index.ts';
import { act, routeWords, tellFees } from './actions.ts';
import { type CommandContext, describedCommand, usualEnvironment } from './context.ts';
import { amountOf, kindOption, usualEnvironmentOption } from './values.ts';

interface FeesOptions {
  kind?: RouteKind;
  route?: string;
  environment?: Environment;
}

export function feesCommand(context: CommandContext): Command {
  const command = describedCommand('fees <amount>', {
    summary: 'Show who pays what for an amount',
    details: 'The amount is in US dollars, not cents.',
    examples: ['tillway fees 49.99', 'tillway fees 49.99 --kind wallet', 'tillway fees 1200 --json'],
  })
    .addOption(kindOption('the way to pay to prefer'))
    .option('--route <id>', 'exactly this route')
    .addOption(usualEnvironmentOption());
  return command.action(async (text: string, { kind, route, environment = usualEnvironment(context) }: FeesOptions) => {
    const body = {
      amount: amountOf('amount', text),
      preferredRoute: kind,
      routeId: route,
      environment,
    };
    const answer = await act<FeesEstimate>(context.client(command), 'fees.estimate', body);
    context.tell(command, answer, ({ result }, paint) => {
      return `${routeWords(result.route, paint)}\n\n${tellFees(result.feeSplit, result.route, paint)}`;
    });
  });
}
