import { NO_ROLES, type Operator, type Roles } from '../../domain/operator.ts';
import { ROLES } from '../../domain/permission.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { type Html, type HtmlValue, html } from '../../html/html.ts';
import { changeRoles, inviteOperator, listOperators } from '../../operations/access/operators.ts';
import { choicesOf, field, inputField, select } from '../components/action-form.ts';
import { breakable, table } from '../components/parts.ts';
import { zonedTime } from '../components/time.ts';
import type { LoginParts } from '../login/login-pages.ts';
import { siteOf } from '../login/session-cookie.ts';
import { MODES } from '../shell.ts';
import type { PageRoutes, Visit } from '../visit.ts';

/** Prefix of the hidden fields with the roles that the page showed. */
const SHOWN = 'shown-';

/** Operators, their roles and invitations. The list asks for the factor, so that nobody loses a filled form. */
export function operatorsPage(routes: PageRoutes, { settings }: LoginParts): void {
  routes.get('/operators', async (visit) => {
    return { title: 'Operators', main: renderOperators(visit, await listOperators(visit.deps)) };
  });
  routes.post('/operators', 'inviteOperator', async ({ deps, form, request }) => {
    const asked = { email: form.get('email') ?? '', roles: rolesOf(form) };
    const { operator, secret } = await inviteOperator(deps, asked);
    const main = html`<p>
        Send this link to ${operator.email}. It is shown only now, and is valid once, for 60 minutes.
      </p>
      <p><code>${siteOf(settings, request).origin}/dashboard/join#${secret}</code></p>`;
    return { title: 'Invitation', main };
  });
  routes.post('/operators/:id/roles', 'changeRoles', async ({ deps, form, param, path }) => {
    // Without the shown roles, an old page would give an operator back a role that another admin has removed.
    const shown = form.has(`${SHOWN}sandbox`) ? rolesOf(form, SHOWN) : undefined;
    await changeRoles(deps, param('id'), rolesOf(form), shown);
    return { goTo: path('operators') };
  });
}

function renderOperators(visit: Visit, operators: readonly Operator[]): Html {
  const zone = visit.deps.reportingZone;
  const columns = [
    { name: 'Address', cell: ({ email }: Operator) => breakable(email) },
    { name: 'State', cell: ({ joinedAt }: Operator) => (joinedAt === null ? 'invited' : 'joined') },
    ...ENVIRONMENTS.map((one) => ({ name: MODES[one].name, cell: ({ roles }: Operator) => roles[one] ?? 'no role' })),
    { name: 'Last login', cell: ({ lastLoginAt: at }: Operator) => (at === null ? 'never' : zonedTime(at, zone)) },
    { name: 'Change', cell: (operator: Operator) => renderChange(visit, operator) },
  ];
  return html`<p>
      A viewer reads. Support also helps buyers, and refunds within a limit. An operator also decides about money, and
      an admin changes the settings. A person whose role is none in both modes cannot log in.
    </p>
    ${table('Operators, newest first', columns, operators)}
    <h2>Invite a person</h2>
    <form method="post" action="${visit.path('operators')}" class="stack">
      ${visit.formToken} ${inputField('Email address', 'email', 'email', 'off')}
      ${roleFields({ id: 'new', roles: NO_ROLES })}
      <button class="button">Create the link</button>
    </form>`;
}

function renderChange(visit: Visit, operator: Operator): Html {
  const shown = ENVIRONMENTS.map(
    (one) => html`<input type="hidden" name="${SHOWN}${one}" value="${operator.roles[one]}" />`,
  );
  return html`<details>
    <summary>Change</summary>
    <form method="post" action="${visit.path(`operators/${operator.id}/roles`)}" class="stack">
      ${visit.formToken} ${shown} ${roleFields(operator)}<button class="small-button">
        Save, and end the sessions
      </button>
    </form>
  </details>`;
}

function roleFields({ id, roles }: Pick<Operator, 'id' | 'roles'>): HtmlValue {
  return ENVIRONMENTS.map((one) => {
    const control = select(one, 'none', choicesOf(ROLES), roles[one], `${one}-${id}`);
    return field(`${one}-${id}`, `Role in ${MODES[one].name}`, control);
  });
}

function rolesOf(form: URLSearchParams, prefix = ''): Roles {
  const role = (environment: Environment) => ROLES.find((each) => each === form.get(prefix + environment)) ?? null;
  return { sandbox: role('sandbox'), production: role('production') };
}
