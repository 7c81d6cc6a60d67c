import { centsFromAmount, amountFromCents } from '../../domain/money.ts';
import { invalidField } from '../../domain/gateway-error.ts';
import { type Operator, REFUND_LIMIT, type Roles } from '../../domain/operator.ts';
import { ROLES } from '../../domain/permission.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { type Html, html } from '../../html/html.ts';
import { changeRoles, disableOperator, inviteOperator, listOperators } from '../../operations/access/operators.ts';
import { table } from '../components/parts.ts';
import { zonedTime } from '../components/time.ts';
import { field } from '../login/passkey-form.ts';
import type { LoginParts } from '../login/login-pages.ts';
import { siteOf } from '../login/session-cookie.ts';
import type { PageRoutes, Visit } from '../visit.ts';

const NAMES: Record<Environment, string> = { sandbox: 'Test', production: 'Live' };

/** Operators, their roles and invitations. The list asks for the factor, so that nobody loses a filled form. */
export function operatorsPage(routes: PageRoutes, { settings, access }: LoginParts): void {
  routes.get('/operators', async (visit) => {
    return { title: 'Operators', main: renderOperators(visit, await listOperators(visit.deps)) };
  });
  routes.post('/operators', 'inviteOperator', async ({ deps, form, request }) => {
    const asked = { email: form.get('email') ?? '', roles: rolesOf(form), refundLimit: limitOf(form) };
    const { operator, secret } = await inviteOperator(deps, asked);
    const main = html`<p>
        Send this link to ${operator.email}. It is shown only now, and is valid once, for 60 minutes.
      </p>
      <p><code class="id">${siteOf(settings, request).origin}/dashboard/join#${secret}</code></p>`;
    return { title: 'Invitation', main };
  });
  routes.post('/operators/:id/roles', 'changeRoles', async ({ deps, form, param, path }) => {
    await changeRoles(deps, param('id'), rolesOf(form), limitOf(form));
    access.logins.forget();
    return { goTo: path('operators') };
  });
  routes.post('/operators/:id/disable', 'disableOperator', async ({ deps, param, path }) => {
    await disableOperator(deps, param('id'));
    access.logins.forget();
    return { goTo: path('operators') };
  });
}

function renderOperators(visit: Visit, operators: readonly Operator[]): Html {
  const zone = visit.deps.reportingZone;
  const columns = [
    { name: 'Address', cell: ({ email }: Operator) => email },
    { name: 'State', cell: stateOf },
    ...ENVIRONMENTS.map((one) => ({ name: NAMES[one], cell: ({ roles }: Operator) => roles[one] ?? 'no role' })),
    { name: 'Last login', cell: ({ lastLoginAt: at }: Operator) => (at === null ? 'never' : zonedTime(at, zone)) },
    { name: 'Change', cell: (operator: Operator) => renderChange(visit, operator) },
  ];
  return html`${table('Operators, newest first', columns, operators)}
    <h2>Invite a person</h2>
    <form method="post" action="${visit.path('operators')}" class="stack">
      ${visit.formToken} ${field('Email address', 'email', 'email', 'off')} ${roleFields()}
      <button>Create the link</button>
    </form>`;
}

function stateOf({ joinedAt, disabledAt }: Operator): string {
  if (disabledAt !== null) return 'disabled';
  return joinedAt === null ? 'invited' : 'joined';
}

function renderChange(visit: Visit, operator: Operator): Html {
  const action = (name: string) => visit.path(`operators/${operator.id}/${name}`);
  return html`<details>
    <summary>Change</summary>
    <form method="post" action="${action('roles')}" class="stack">
      ${visit.formToken} ${roleFields(operator)}<button>Save, and end the sessions</button>
    </form>
    <form method="post" action="${action('disable')}" class="stack">
      ${visit.formToken}<button>Disable ${operator.email}</button>
    </form>
  </details>`;
}

function roleFields({ roles, refundLimit = REFUND_LIMIT }: Partial<Operator> = {}): Html {
  const option = (role: string, environment: Environment) =>
    html`<option ${role === (roles?.[environment] ?? 'none') && html`selected`}>${role}</option>`;
  const choice = (environment: Environment) =>
    html`<label class="field"
      >Role in ${NAMES[environment]}
      <select name="${environment}">
        ${['none', ...ROLES].map((role) => option(role, environment))}
      </select></label
    >`;
  const limit = amountFromCents(refundLimit);
  return html`${ENVIRONMENTS.map(choice)}
  ${field('Refunds by support, a day in US dollars', 'limit', 'text', 'off', true, limit)}`;
}

function rolesOf(form: URLSearchParams): Roles {
  const role = (environment: Environment) => ROLES.find((each) => each === form.get(environment)) ?? null;
  return { sandbox: role('sandbox'), production: role('production') };
}

function limitOf(form: URLSearchParams): number {
  const text = form.get('limit')?.trim() ?? '';
  const cents = /^\d{1,9}(\.\d+)?$/.test(text) ? centsFromAmount(Number(text)) : undefined;
  if (cents !== undefined) return cents;
  throw invalidField('limit', 'invalid_value', 'must be an amount in US dollars', 'Enter an amount such as 200.');
}
