import type { Command } from 'commander';
import type { AuditEntry } from '../../sdk/src/index.ts';
import { AUDIT_KINDS } from '../domain/audit.ts';
import { commandGroup } from './command-group.ts';
import type { CommandContext } from './command-context.ts';
import { listCommand } from './list-command.ts';
import { choiceOption, idOptions, option } from './options.ts';

/** `tillway audit list`: who did what. */
export function auditCommand(context: CommandContext): Command {
  const list = listCommand<AuditEntry>(context, {
    name: 'audit entries',
    one: 'entry',
    path: 'audit list',
    filters: [
      ...idOptions('actor', 'subject', 'session'),
      option('--action <operation>', 'records of this operation, such as createRefund'),
      choiceOption('--kind <kind>', 'only changes, or only exports', AUDIT_KINDS),
    ],
    examples: ['--action createRefund --limit 5'],
    columns: ['created', 'actorName', 'action', 'outcome', 'subjectId', 'environment', 'id'],
    list: (client, query) => client.audit.list(query),
  });
  return commandGroup('audit', 'List who changed or exported what', [list], { otherwise: 'list' });
}
