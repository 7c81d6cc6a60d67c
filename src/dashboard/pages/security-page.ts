import { GatewayError } from '../../domain/gateway-error.ts';
import { type Html, html } from '../../html/html.ts';
import { assertFresh } from '../../operations/access/caller.ts';
import { addFactor } from '../../operations/access/operator-login.ts';
import { endOwnSessions, ownAccess, removePasskey } from '../../operations/access/operators.ts';
import type { OperatorSession, Passkey } from '../../store/tables/operators-table.ts';
import { table } from '../components/parts.ts';
import { zonedTime } from '../components/time.ts';
import { newFactorOf, newFactorForms, recoveryCodes } from '../login/join-pages.ts';
import type { LoginParts } from '../login/login-pages.ts';
import { passkeyScripts } from '../login/passkey-form.ts';
import { siteOf } from '../login/session-cookie.ts';
import type { PageRoutes, Visit } from '../visit.ts';

/** The own factors and sessions of an operator. Pages that change a factor ask for the factor first. */
export function securityPage(routes: PageRoutes, parts: LoginParts): void {
  const { settings, access } = parts;
  const done = (visit: Visit) => {
    access.logins.forget();
    return { goTo: visit.path('security') };
  };
  routes.get('/security', async (visit) => {
    const { kind, name } = visit.visitor.principal;
    if (kind !== 'operator') return { title: 'My security', main: html`<p>${name} has no factors of its own.</p>` };
    return { title: 'My security', main: renderSecurity(visit, await ownOf(visit)) };
  });
  routes.get('/security/factors', async (visit) => {
    assertFresh(visit.deps);
    const { operator } = await ownOf(visit);
    const main = newFactorForms(parts, visit, operator, { purpose: 'add', action: visit.here, kept: visit.formToken });
    return { title: 'Add a factor', main, head: passkeyScripts };
  });
  routes.post('/security/factors', 'addFactor', async (visit) => {
    assertFresh(visit.deps);
    const { operator } = await ownOf(visit);
    const site = siteOf(settings, visit.request);
    const codes = await addFactor(access, operator, newFactorOf(visit.form), site, visit.visitor.loginId!);
    if (codes.length === 0) return done(visit);
    return { title: 'Recovery codes', main: recoveryCodes(codes, visit.path('security')) };
  });
  routes.post('/security/passkeys/:id/remove', 'removePasskey', async (visit) => {
    assertFresh(visit.deps);
    await removePasskey(visit.deps, (await ownOf(visit)).operator.id, visit.param('id'));
    return done(visit);
  });
  routes.post('/security/sessions/:id/end', 'endOwnSessions', async (visit) => {
    await endOwnSessions(visit.deps, (await ownOf(visit)).operator.id, { only: visit.param('id') });
    return done(visit);
  });
  routes.post('/security/sessions/end-others', 'endOwnSessions', async (visit) => {
    await endOwnSessions(visit.deps, (await ownOf(visit)).operator.id, { except: visit.visitor.loginId! });
    return done(visit);
  });
}

/** Throws GatewayError `forbidden` for keys and the open service. */
async function ownOf({ deps, visitor: { principal } }: Visit) {
  if (principal.kind === 'operator') return ownAccess(deps, principal.id);
  throw new GatewayError('forbidden', 'Only operators have factors and sessions of their own.', {
    suggestion: 'Log in as an operator; "tillway operators invite" makes one.',
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
  const app = operator.totpSealed === null ? 'none' : `set, ${operator.recoveryCodes.length} recovery codes are left`;
  return html`${table('Passkeys', passkeyColumns, passkeys)}
    <p>Password: ${operator.passwordHash === null ? 'none' : 'set'}. Authenticator app: ${app}.</p>
    <p><a class="button" href="${visit.path('security/factors')}">Add a passkey or set the password</a></p>
    ${table('Sessions', sessionColumns, sessions)} ${button('sessions/end-others', 'End all other sessions')}`;
}
