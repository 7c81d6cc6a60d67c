import type { Command } from 'commander';
import { createIdSource } from '../domain/id.ts';
import { ROLES, type Role } from '../domain/permission.ts';
import { type CommandContext, describedCommand } from './command-context.ts';
import { WORKS_ON_DATABASE, onDatabase } from './local-database.ts';
import { commandGroup } from './command-group.ts';
import type { LocalCommands } from './local-commands.ts';
import { choiceOption, option } from './options.ts';

const CHOICES = [...ROLES, 'none'] as const;
type Choice = Role | 'none';

/** The `operators` commands. They access the database directly, because no page may invite the first operator. */
export function operatorsCommand(context: CommandContext, local: LocalCommands): Command {
  return commandGroup('operators', 'Invite the people who use the dashboard', [inviteCommand(context, local)]);
}

function inviteCommand(context: CommandContext, local: LocalCommands): Command {
  const command = describedCommand('invite <email>', {
    summary: 'Invite an operator, and print the link once',
    details: `${WORKS_ON_DATABASE} A missing database is created, except with --recover. The link is valid once, for 60 minutes. Once the first operator has joined, the API requires keys, and keys no longer log in to the dashboard.`,
    examples: [
      'tillway operators invite ada@example.com --production admin',
      'tillway operators invite ada@example.com --recover',
    ],
    options: [
      choiceOption('--production <role>', 'role in Live', CHOICES).default('none'),
      choiceOption('--sandbox <role>', 'role in Test; default: the role in Live', CHOICES),
      option('--recover', 'for an operator who lost all factors: removes them, and ends all sessions'),
    ],
    remote: false,
  });
  return command.action(async (email: string, options: { production: Choice; sandbox?: Choice; recover?: boolean }) => {
    const { production, sandbox = production, recover } = options;
    const role = (name: Choice) => (name === 'none' ? null : name);
    const request = { email, roles: { production: role(production), sandbox: role(sandbox) }, recover };
    const { inviteOperator, invitedAddress } = await import('../operations/access/operators.ts');
    // Rejects a wrong request before a database is created for it.
    invitedAddress(request);
    const on = { context, command, local, action: 'inviteOperator' };
    const { randomBytes } = context.terminal;
    const invited = await onDatabase(on, recover ? 'refused' : 'made', async (store, { dashboardUrl }) => {
      const deps = { store, realNow: store.now, newId: createIdSource(store.now, randomBytes), randomBytes };
      const { operator, secret } = await inviteOperator({ ...deps, caller: undefined }, request);
      const link = `${new URL(dashboardUrl).origin}/dashboard/join#${secret}`;
      return { id: operator.id, email: operator.email, ...operator.roles, link };
    });
    context.tell(command, invited, ({ link, id }, paint) => {
      const note = 'The link is shown only now, and is valid once, for 60 minutes.';
      return `${paint('green', 'Invited')}  ${id}\n\n${link}\n\n${note}\n`;
    });
  });
}
