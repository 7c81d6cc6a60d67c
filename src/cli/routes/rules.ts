import { type Command, Option } from 'commander';
import type { Environment, Objective, RouteKind, RuleSet } from '../../../sdk/src/index.ts';
import { OBJECTIVES } from '../../routing/policy.ts';
import { type CommandContext, describedCommand, usualEnvironment } from '../context.ts';
import { commandGroup } from '../group.ts';
import { tellBacktest, tellDecision, tellRules, tellWarnings } from './words.ts';
import {
  amountOf,
  fileOf,
  kindOption,
  metadataOption,
  numberOf,
  pairsOf,
  usualEnvironmentOption,
  wholeNumberOf,
} from '../values.ts';

/** `tillway routes rules`: what the operator wants of the router. */
export function rulesCommand(context: CommandContext): Command {
  const show = describedCommand('show', {
    summary: 'Show the routing rules in force',
    examples: ['tillway routes rules show', 'tillway routes rules --json'],
  }).option('--version <number>', 'this version instead', (text) => wholeNumberOf('--version', text, '3'));
  show.action(async ({ version }: { version?: number }) => {
    context.tell(show, await context.client(show).routing.rules({ version }), tellRules);
  });

  const check = describedCommand('check <file>', {
    summary: 'Check a rule file, and put nothing in force',
    details:
      'Prints the same warnings as save. Exit code 1: the rules are rejected, or they reject every session of an environment. Other warnings leave the exit code at 0.',
    examples: ['tillway routes rules check rules.json'],
  });
  check.action(async (file: string) => {
    // A dry run under the rules refuses them as saving would.
    const answer = await context.client(check).routing.dryRun({
      amount: 10,
      environment: usualEnvironment(context),
      rules: fileOf(file),
    });
    // Operators may close the checkout on purpose, so such rules are valid. A pipeline must not close it unnoticed.
    const isClosed = answer.warnings.some(({ code }) => code === 'rejects_all');
    context.tell(check, answer, ({ warnings }, paint) => {
      const verdict = isClosed ? 'The rules reject every session of an environment' : 'The rules are well formed';
      return `${tellWarnings(warnings, paint)}${verdict}; nothing was changed.\n`;
    });
    if (isClosed) context.fail();
  });

  const save = describedCommand('save <file>', {
    summary: 'Put a rule file in force',
    examples: ['tillway routes rules save rules.json'],
  });
  save.action(async (file: string) => {
    // What is wrong with it the service says, all of it.
    context.tell(save, await context.client(save).routing.saveRules(fileOf(file) as RuleSet), tellRules);
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
  const command = describedCommand('dry-run <amount>', {
    summary: 'Tell which route such a checkout would get, and why',
    details: 'Explores nothing and writes nothing.',
    examples: ['tillway routes dry-run 49.99', 'tillway routes dry-run 49.99 --kind wallet --metadata country=DE'],
  })
    .addOption(kindOption('suppose that the buyer chose this way to pay'))
    .option('--rules <file>', 'suppose the rules of this file')
    .option('--customer <email>', 'suppose this customer')
    .option('--product <text>', 'suppose this product')
    .addOption(metadataOption())
    .addOption(usualEnvironmentOption());
  return command.action(async (amount: string, options: DryRunOptions) => {
    const { environment = usualEnvironment(context), kind, rules, customer, product, metadata } = options;
    const answer = await context.client(command).routing.dryRun({
      amount: amountOf('amount', amount),
      environment,
      kind,
      customer,
      product,
      rules: rules === undefined ? undefined : fileOf(rules),
      metadata: pairsOf('--metadata', metadata),
    });
    context.tell(command, answer, tellDecision);
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
  const command = describedCommand('backtest', {
    summary: 'Tell what other rules or another objective would have changed',
    details: 'Makes the newest decisions about payments again, from what was known then. Writes nothing.',
    examples: ['tillway routes backtest --margin 0.15', 'tillway routes backtest --objective total --limit 1000'],
  })
    .option('--rules <file>', 'the rules of this file instead of the saved ones')
    .option('--margin <number>', 'what a paid payment is worth, as a fraction of its amount', (text) =>
      numberOf('--margin', text, '0.15'),
    )
    .addOption(new Option('--objective <objective>', 'whose cost counts').choices(Object.keys(OBJECTIVES)))
    .option('--limit <number>', 'how many decisions, 1 to 1000; default 200', (text) =>
      wholeNumberOf('--limit', text, '200'),
    )
    .addOption(usualEnvironmentOption());
  return command.action(async (options: BacktestOptions) => {
    const { rules, margin, objective, limit, environment = usualEnvironment(context) } = options;
    const answer = await context.client(command).routing.backtest({
      environment,
      objective,
      margin,
      limit,
      rules: rules === undefined ? undefined : fileOf(rules),
    });
    context.tell(command, answer, tellBacktest);
  });
}
