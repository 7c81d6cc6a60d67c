import { type Html, html } from '../../html/html.ts';
import { endOwnSessions, inviteSelf, ownAccess, removePasskey } from '../../operations/access/operators.ts';
import type { OperatorSession, Passkey } from '../../store/tables/operators-table.ts';
import { table } from '../components/parts.ts';
import { zonedTime } from '../components/time.ts';
import { type LoginParts, newFactorForms } from '../login/login-pages.ts';
import { passkeyScripts } from '../login/passkey-form.ts';
import type { PageRoutes, Visit } from '../visit.ts';

/** Stands for the id of a session where all others are meant. */
const OTHERS = 'others';

/** The own factors and sessions of an operator. The page asks for the factor, because its buttons need it. */
export function securityPage(routes: PageRoutes, parts: LoginParts): void {
  const done = (visit: Visit) => ({ goTo: visit.path('security') });
  routes.get('/security', async (visit) => {
    return { title: 'My security', main: renderSecurity(visit, await ownAccess(visit.deps)) };
  });
  routes.post('/security/factors', 'addFactor', async (visit) => {
    const { operator, secret } = await inviteSelf(visit.deps);
    const main = newFactorForms(parts, visit.request, operator, { secret, next: visit.path('security') });
    return { title: 'Add a factor', main, head: passkeyScripts };
  });
  routes.post('/security/passkeys/:id/remove', 'removePasskey', async (visit) => {
    await removePasskey(visit.deps, visit.param('id'));
    return done(visit);
  });
  routes.post('/security/sessions/:id/end', 'endOwnSessions', async (visit) => {
    const id = visit.param('id');
    const isMeant = (login: OperatorSession) => (id === OTHERS ? login.id !== visit.visitor.loginId : login.id === id);
    await endOwnSessions(visit.deps, isMeant);
    return done(visit);
  });
}

function renderSecurity(visit: Visit, { operator, passkeys, sessions }: Awaited<ReturnType<typeof ownAccess>>): Html {
  const when = (at: number | null) => (at === null ? 'never' : zonedTime(at, visit.deps.reportingZone));
  const button = (path: string, name: string) =>
    html`<form method="post" action="${visit.path(`security/${path}`)}">
      ${visit.formToken}<button class="small-button">${name}</button>
    </form>`;
  const passkeyColumns = [
    { name: 'Passkey added', cell: ({ created }: Passkey) => when(created) },
    { name: 'Last used', cell: ({ lastUsedAt }: Passkey) => when(lastUsedAt) },
    { name: 'Remove', cell: ({ id }: Passkey) => button(`passkeys/${id}/remove`, 'Remove') },
  ];
  const endOf = ({ id }: OperatorSession) =>
    id === visit.visitor.loginId ? 'this session' : button(`sessions/${id}/end`, 'End');
  const sessionColumns = [
    { name: 'Begun', cell: ({ created }: OperatorSession) => when(created) },
    { name: 'Last use', cell: ({ lastActiveAt }: OperatorSession) => when(lastActiveAt) },
    { name: 'Address', cell: ({ address }: OperatorSession) => address },
    { name: 'End', cell: endOf },
  ];
  const isSet = (value: string | null) => (value === null ? 'none' : 'set');
  return html`${passkeys.length > 0 && table('Passkeys', passkeyColumns, passkeys)}
    <p>
      Passkeys: ${passkeys.length}. Password: ${isSet(operator.passwordHash)}. Authenticator app:
      ${isSet(operator.totpSealed)}.
    </p>
    ${button('factors', 'Add a passkey or set the password')} ${table('Sessions', sessionColumns, sessions)}
    ${button(`sessions/${OTHERS}/end`, 'End all other sessions')}`;
}
