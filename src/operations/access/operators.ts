import { email as emailSchema } from '../../contract/request-fields.ts';
import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import type { RandomBytes } from '../../domain/id.ts';
import {
  IDLE_MS,
  INVITE_MS,
  NO_FACTORS,
  type Operator,
  type Roles,
  hashOfSecret,
  isSessionOver,
  losesAdmin,
  newSecret,
  roleBeyond,
} from '../../domain/operator.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import type { Change } from '../../store/store.ts';
import type { OperatorSession } from '../../store/tables/operators-table.ts';
import type { Deps } from '../deps.ts';
import { found } from '../not-found.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { assertCan, assertFresh } from './caller.ts';

/** Dependencies of the operations on operators. */
type OperatorDeps = Pick<Deps, 'store' | 'realNow' | 'newId' | 'caller'> & { randomBytes: RandomBytes };
type OwnDeps = Pick<Deps, 'store' | 'realNow'>;

const NO_ROLES: Roles = { sandbox: null, production: null };
const MOST_LISTED = 500;

/** Throws GatewayError `forbidden` unless the caller is an admin of production, because operators have roles in both environments. */
function assertAdmin(deps: OperatorDeps): void {
  const { caller } = deps;
  assertCan(deps, 'operator.change');
  if (!caller || (caller.kind !== 'machine' && caller.environment === 'production')) return;
  throw new GatewayError('forbidden', 'Admins manage operators in Live; a command invites the first one.', {
    suggestion:
      'Open /dashboard/production/operators, or run: tillway operators invite you@example.com --production admin',
  });
}

/** The newest operators. */
export async function listOperators(deps: OperatorDeps): Promise<Operator[]> {
  assertAdmin(deps);
  return (await deps.store.listOperators({ limit: MOST_LISTED })).items;
}

export interface InviteRequest {
  email: string;
  roles: Roles;
  /** True for a person who has joined and lost all factors: removes them, ends all sessions, keeps the roles, and lifts a disabling. */
  recover?: boolean | undefined;
}

/** Invites a person; returns the secret of the link, of which only the hash is stored. Throws GatewayError `invalid_state` for one who has joined. */
export async function inviteOperator(
  deps: OperatorDeps,
  request: InviteRequest,
): Promise<{ operator: Operator; secret: string }> {
  assertAdmin(deps);
  const { roles, recover = false } = request;
  const email = emailOf(request.email);
  const first = await deps.store.operatorByEmail(email);
  if (recover && !first) throw new GatewayError('not_found', `No operator has the address ${email}.`);
  const blank = { ...NO_FACTORS, joinedAt: null, lastLoginAt: null, disabledAt: null, roles: NO_ROLES };
  const before = first ?? { ...blank, email, created: deps.realNow(), id: deps.newId('opr'), version: 0 };
  const { secret, invited } = newInvite(deps, before.id);
  const recovery: Change[] = [{ type: 'passkeys_removed', operatorId: before.id }, allSessionsEnded(deps, before.id)];
  const decide = (current: Operator) => {
    if (recover) return { ...current, ...NO_FACTORS, disabledAt: null };
    assertSomeRole(roles);
    if (current.joinedAt === null) return { ...current, roles };
    throw new GatewayError('invalid_state', `${email} has joined already.`, {
      suggestion: 'Change the roles on the page, or renew the access: tillway operators invite <address> --recover.',
    });
  };
  const along = (): Change[] => [invited, ...(recover ? recovery : [])];
  return { operator: await changeOperator(deps, before.id, decide, along, before), secret };
}

/** Invites an operator to add a factor of the own; returns the secret. Throws {@link StepUpRefusal}. */
export async function inviteSelf(deps: OperatorDeps, id: string): Promise<string> {
  assertFresh(deps);
  const { secret, invited } = newInvite(deps, id);
  await deps.store.commit([invited]);
  return secret;
}

/** A new secret, and the change that stores its hash. */
function newInvite({ realNow, randomBytes }: OperatorDeps, operatorId: string): { secret: string; invited: Change } {
  const secret = newSecret(randomBytes);
  const invite = { id: hashOfSecret(secret), operatorId, expiresAt: realNow() + INVITE_MS };
  return { secret, invited: { type: 'operator_invited', invite } };
}

/** Changes the roles of an operator, and ends the operator's sessions. */
export async function changeRoles(deps: OperatorDeps, id: string, roles: Roles): Promise<Operator> {
  assertAdmin(deps);
  assertSomeRole(roles);
  const change = (before: Operator) => ({ ...before, roles });
  return changeOperator(deps, id, change, () => [allSessionsEnded(deps, id)]);
}

/** Disables an operator, whose invitation no longer works either, and ends the sessions. A recovery lifts it. */
export async function disableOperator(deps: OperatorDeps, id: string): Promise<Operator> {
  assertAdmin(deps);
  const disable = (before: Operator) => ({ ...before, disabledAt: before.disabledAt ?? deps.realNow() });
  return changeOperator(deps, id, disable, () => [allSessionsEnded(deps, id)]);
}

/** Reads, decides and saves an operator, with further changes. Throws GatewayError `not_found`, and `invalid_state` for the last admin. */
export async function changeOperator(
  { store, caller }: Pick<OperatorDeps, 'store' | 'caller'>,
  id: string,
  decide: (before: Operator) => Operator | Promise<Operator>,
  along: () => Change[],
  unsaved?: Operator,
): Promise<Operator> {
  return retryOnConflict({ store }, `operator ${id}`, async (conflict) => {
    if (conflict === 'last_admin') {
      throw new GatewayError('invalid_state', 'This is the last admin of Live, and one must stay.', {
        suggestion: 'Give another operator the role admin in Live first.',
      });
    }
    const before = found((await store.operator(id)) ?? unsaved, 'operator', id, 'opr_');
    const operator = { ...(await decide(before)), version: before.version + 1 };
    const own = caller?.kind === 'operator' ? (await store.operator(caller.id))?.roles : undefined;
    const granter = own ?? (caller && { ...NO_ROLES, [caller.environment]: caller.role });
    const beyond = granter && roleBeyond(granter, before.roles, operator.roles);
    if (beyond)
      throw new GatewayError('forbidden', `Nobody grants a role that they lack: your role in ${beyond} is lower.`);
    return {
      changes: [{ type: 'operator_saved', operator, losesAdmin: losesAdmin(before, operator) }, ...along()],
      result: operator,
    };
  });
}

function allSessionsEnded({ realNow }: Pick<Deps, 'realNow'>, operatorId: string): Change {
  return { type: 'operator_sessions_ended', operatorId, at: realNow() };
}

function assertSomeRole(roles: Roles): void {
  if (ENVIRONMENTS.some((environment) => roles[environment] !== null)) return;
  throw invalidField('roles', 'required', 'need a role in one environment', 'Choose a role, or disable the operator.');
}

function emailOf(text: string): string {
  const parsed = emailSchema.safeParse(text.trim());
  if (parsed.success) return parsed.data.toLowerCase();
  throw invalidField('email', 'invalid_format', 'must be an email address', 'Use an address such as ada@example.com.');
}

/** The operator of an unused invitation. Throws GatewayError `forbidden` for a used, expired or unknown one. */
export async function operatorOfInvite({ store, realNow }: OwnDeps, secret: string): Promise<Operator> {
  const invited = await store.operatorInvite(hashOfSecret(secret));
  const operator = invited && invited.expiresAt > realNow() ? await store.operator(invited.operatorId) : undefined;
  if (operator?.disabledAt === null) return operator;
  throw new GatewayError('forbidden', 'This invitation was used, has expired, or is not of this service.', {
    suggestion: 'Ask an admin for a new one: a link is valid once, for 60 minutes.',
  });
}

/** An operator with the own passkeys and sessions. */
export async function ownAccess({ store, realNow }: OwnDeps, operatorId: string) {
  const now = realNow();
  const [operator, passkeys, sessions] = await Promise.all([
    store.operator(operatorId),
    store.passkeysOfOperator(operatorId),
    store.sessionsOfOperator(operatorId, now - IDLE_MS),
  ]);
  return { operator: operator!, passkeys, sessions: sessions.filter((session) => !isSessionOver(session, now)) };
}

/** Ends the sessions of an operator that `isMeant` selects. */
export async function endOwnSessions(
  deps: OwnDeps,
  operatorId: string,
  isMeant: (session: OperatorSession) => boolean,
) {
  const { sessions } = await ownAccess(deps, operatorId);
  const at = deps.realNow();
  await deps.store.commit(sessions.filter(isMeant).map((login) => ({ type: 'operator_session_ended', login, at })));
}

/** Removes one of the operator's passkeys. Throws GatewayError `invalid_state` if no factor would be left. */
export async function removePasskey(deps: OperatorDeps, operatorId: string, id: string): Promise<void> {
  assertFresh(deps);
  const check = async (before: Operator) => {
    const passkeys = await deps.store.passkeysOfOperator(operatorId);
    const named = passkeys.find((each) => each.id === id);
    found(named, 'passkey', id, '');
    if (passkeys.length > 1 || before.passwordHash !== null) return before;
    throw new GatewayError('invalid_state', 'This is your last passkey, and you have no password.', {
      suggestion: 'Add another passkey or a password first.',
    });
  };
  await changeOperator(deps, operatorId, check, () => [{ type: 'passkey_removed', id, operatorId }]);
}
