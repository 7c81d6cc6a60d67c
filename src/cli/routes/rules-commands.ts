import type { Command } from 'commander';
import type { Environment, Objective, RouteKind, RoutingRules, RuleSet } from '../../../sdk/src/index.ts';
import { OBJECTIVES } from '../../routing/routing-policy.ts';
import { type CommandContext, usualEnvironment } from '../command-context.ts';
import { commandGroup } from '../command-group.ts';
import { serviceCommand } from '../service-command.ts';
import {
  amountOf,
  choiceOption,
  fileOf,
  kindOption,
  metadataOption,
  numberOf,
  option,
  pairsOf,
  usualEnvironmentOption,
  wholeNumberOption,
} from '../options.ts';
import { tellBacktest, tellDecision, tellRules, tellWarnings } from './routing-text.ts';

/** `tillway routes rules`: the operator's routing rules. */
export function rulesCommand(context: CommandContext): Command {
  const show = serviceCommand(context, 'show', {
    summary: 'Show the routing rules in force',
    examples: ['tillway routes rules show', 'tillway routes rules --json'],
    options: [wholeNumberOption('--version', 'this version instead', '3')],
    ask: ({ routing }, { version }: { version?: number }) => routing.rules({ version }),
    show: tellRules,
  });
  // Operators may close the checkout on purpose, so such rules are valid. A pipeline must not close it unnoticed.
  const isClosed = ({ warnings }: Pick<RoutingRules, 'warnings'>) =>
    warnings.some(({ code }) => code === 'rejects_all');
  const check = serviceCommand(context, 'check <file>', {
    summary: 'Check a rule file, and put nothing in force',
    details:
      'Prints the same warnings as save. Exit code 1: the rules are rejected, or they reject every session of an environment. Other warnings leave the exit code at 0.',
    examples: ['tillway routes rules check rules.json'],
    // A dry run rejects invalid rules exactly as saving them does.
    ask: async ({ routing }, _options, file) =>
      routing.dryRun({ amount: 10, environment: usualEnvironment(context), rules: fileOf(file) }),
    show(answer, paint) {
      const verdict = isClosed(answer)
        ? 'The rules reject every session of an environment'
        : 'The rules are well formed';
      return `${tellWarnings(answer.warnings, paint)}${verdict}; nothing was changed.\n`;
    },
    isFailure: isClosed,
  });
  const save = serviceCommand(context, 'save <file>', {
    summary: 'Put a rule file in force',
    examples: ['tillway routes rules save rules.json'],
    // The service validates the file.
    ask: async ({ routing }, _options, file) => routing.saveRules(fileOf(file) as RuleSet),
    show: tellRules,
  });
  return commandGroup('rules', 'Show, check and save the routing rules', [show, check, save], { otherwise: 'show' });
}

interface DryRunOptions {
  environment?: Environment;
  kind?: RouteKind;
  rules?: string;
  customer?: string;
  product?: string;
  metadata: string[];
}

export function dryRunCommand(context: CommandContext): Command {
  return serviceCommand(context, 'dry-run <amount>', {
    summary: 'Tell which route such a checkout would get, and why',
    details: 'Explores nothing and writes nothing.',
    examples: ['tillway routes dry-run 49.99', 'tillway routes dry-run 49.99 --kind wallet --metadata country=DE'],
    options: [
      kindOption('suppose that the buyer chose this way to pay'),
      option('--rules <file>', 'suppose the rules of this file'),
      option('--customer <email>', 'suppose this customer'),
      option('--product <text>', 'suppose this product'),
      metadataOption(),
      usualEnvironmentOption(),
    ],
    ask: async ({ routing }, { rules, metadata, ...options }: DryRunOptions, amount) => {
      const { environment = usualEnvironment(context), kind, customer, product } = options;
      return routing.dryRun({
        amount: amountOf('amount', amount),
        environment,
        kind,
        customer,
        product,
        rules: rules === undefined ? undefined : fileOf(rules),
        metadata: pairsOf('--metadata', metadata),
      });
    },
    show: tellDecision,
  });
}

interface BacktestOptions {
  environment?: Environment;
  rules?: string;
  margin?: number;
  objective?: Objective;
  limit?: number;
}

export function backtestCommand(context: CommandContext): Command {
  return serviceCommand(context, 'backtest', {
    summary: 'Tell what other rules or another objective would have changed',
    details: 'Makes the newest decisions about payments again, from what was known then. Writes nothing.',
    examples: ['tillway routes backtest --margin 0.15', 'tillway routes backtest --objective total --limit 1000'],
    options: [
      option('--rules <file>', 'the rules of this file instead of the saved ones'),
      option('--margin <number>', 'what a paid payment is worth, as a fraction of its amount', (text) =>
        numberOf('--margin', text, '0.15'),
      ),
      choiceOption('--objective <objective>', 'whose cost counts', Object.keys(OBJECTIVES)),
      wholeNumberOption('--limit', 'how many decisions, 1 to 1000; default 200', '200'),
      usualEnvironmentOption(),
    ],
    ask: async ({ routing }, { rules, margin, objective, limit, environment }: BacktestOptions) =>
      routing.backtest({
        environment: environment ?? usualEnvironment(context),
        objective,
        margin,
        limit,
        rules: rules === undefined ? undefined : fileOf(rules),
      }),
    show: tellBacktest,
  });
}
