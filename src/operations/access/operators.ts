import { email as emailSchema } from '../../contract/request-fields.ts';
import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import type { RandomBytes } from '../../domain/id.ts';
import {
  IDLE_MS,
  INVITE_MS,
  NO_FACTORS,
  NO_ROLES,
  type Operator,
  type Roles,
  hasAccess,
  hashOfSecret,
  isSessionOver,
  newSecret,
  roleBeyond,
} from '../../domain/operator.ts';
import { STEP_UP_MS, managesOperators } from '../../domain/permission.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import type { Change } from '../../store/store.ts';
import type { OperatorSession } from '../../store/tables/operators-table.ts';
import type { Deps } from '../deps.ts';
import { found } from '../not-found.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { assertCan, assertFresh } from './caller.ts';

/** Dependencies of the operations on operators. */
type OperatorDeps = Pick<Deps, 'store' | 'realNow' | 'newId' | 'caller'> & { randomBytes: RandomBytes };

const MOST_LISTED = 500;

/** Throws GatewayError `forbidden` for a caller who does not manage operators. */
function assertAdmin(deps: OperatorDeps): void {
  assertCan(deps, 'operator.change');
  if (!deps.caller || managesOperators(deps.caller)) return;
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
  /** True for a person who lost all factors: removes them, ends all sessions, and keeps the roles unless `roles` has one. */
  recover?: boolean | undefined;
}

/** Invites a person; returns the secret of the link, of which only the hash is stored. Throws GatewayError `invalid_state` for one who has joined. */
export async function inviteOperator(deps: OperatorDeps, request: InviteRequest) {
  assertAdmin(deps);
  const { roles, recover = false } = request;
  const email = invitedAddress(request);
  const known = await deps.store.operatorByEmail(email);
  if (recover && !known) throw new GatewayError('not_found', `No operator has the address ${email}.`);
  const times = { created: deps.realNow(), joinedAt: null, lastLoginAt: null };
  const before = known ?? { ...NO_FACTORS, ...times, id: deps.newId('opr'), version: 0, email, roles: NO_ROLES };
  const { secret, invited } = newInvite(deps, before.id, INVITE_MS);
  const decide = (current: Operator) => {
    if (recover) return { ...current, ...NO_FACTORS, roles: hasAccess(request) ? roles : current.roles };
    if (current.joinedAt === null) return { ...current, roles };
    throw new GatewayError('invalid_state', `${email} has joined already.`, {
      suggestion: 'Change the roles on the page, or renew the access: tillway operators invite <address> --recover.',
    });
  };
  const removals: Change[] = [{ type: 'passkeys_removed', operatorId: before.id }, allSessionsEnded(deps, before.id)];
  const along = recover ? [invited, ...removals] : [invited];
  return { operator: await changeOperator(deps, before.id, decide, along, before), secret };
}

/** Invites the caller to add a factor. The secret replaces the proof of a factor, so it is valid for the same time. */
export async function inviteSelf(deps: OperatorDeps) {
  const { operator } = await ownAccess(deps);
  const { secret, invited } = newInvite(deps, operator.id, STEP_UP_MS);
  await deps.store.commit([invited]);
  return { operator, secret };
}

/** A new secret, and the change that stores its hash. */
function newInvite({ realNow, randomBytes }: OperatorDeps, operatorId: string, lengthMs: number) {
  const secret = newSecret(randomBytes);
  const invite = { id: hashOfSecret(secret), operatorId, expiresAt: realNow() + lengthMs };
  return { secret, invited: { type: 'operator_invited', invite } as const };
}

/**
 * Changes the roles of an operator, and ends the operator's sessions. Throws GatewayError `invalid_state` if the roles before are not
 * `shown`, the roles that the caller saw.
 */
export async function changeRoles(deps: OperatorDeps, id: string, roles: Roles, shown?: Roles): Promise<Operator> {
  assertAdmin(deps);
  const decide = (before: Operator) => {
    if (!shown || ENVIRONMENTS.every((one) => before.roles[one] === shown[one])) return { ...before, roles };
    throw new GatewayError('invalid_state', `The roles of ${before.email} have changed since the form was opened.`, {
      suggestion: 'Open the page again, and decide on the new roles. Nothing was changed.',
    });
  };
  return changeOperator(deps, id, decide, [allSessionsEnded(deps, id)]);
}

/** Reads, decides and saves an operator, with further changes. Throws GatewayError `not_found`, and `invalid_state` for the last admin. */
export async function changeOperator(
  { store, caller }: Pick<OperatorDeps, 'store' | 'caller'>,
  id: string,
  decide: (before: Operator) => Operator | Promise<Operator>,
  along: readonly Change[],
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
    const isAdmin = ({ roles, joinedAt }: Operator) => roles.production === 'admin' && joinedAt !== null;
    const losesAdmin = isAdmin(before) && !isAdmin(operator);
    return { changes: [{ type: 'operator_saved', operator, losesAdmin }, ...along], result: operator };
  });
}

export function allSessionsEnded({ realNow }: Pick<Deps, 'realNow'>, operatorId: string): Change {
  return { type: 'operator_sessions_ended', operatorId, at: realNow() };
}

/** The address in lower case. Throws GatewayError `invalid_input` for an invalid address, and for an invitation without a role. */
export function invitedAddress(request: InviteRequest): string {
  const { success, data } = emailSchema.safeParse(request.email.trim());
  if (!success) {
    const advice = 'Use an address such as ada@example.com.';
    throw invalidField('email', 'invalid_format', 'must be an email address', advice);
  }
  if (request.recover || hasAccess(request)) return data.toLowerCase();
  throw invalidField('roles', 'required', 'need a role in one environment', 'Choose a role.');
}

/** The operator of an unused invitation. Throws GatewayError `forbidden` for a used, expired or unknown one. */
export async function operatorOfInvite({ store, realNow }: Pick<Deps, 'store' | 'realNow'>, secret: string) {
  const invited = await store.operatorInvite(hashOfSecret(secret));
  const operator = invited && invited.expiresAt > realNow() ? await store.operator(invited.operatorId) : undefined;
  if (operator && hasAccess(operator)) return operator;
  throw new GatewayError('forbidden', 'This invitation was used, has expired, or is not of this service.', {
    suggestion: 'Ask an admin for a new one: a link is valid once, for 60 minutes.',
  });
}

/** The caller's own passkeys and sessions. Throws GatewayError `forbidden` for a caller who is no operator, and {@link StepUpRefusal}. */
export async function ownAccess(deps: Pick<Deps, 'store' | 'realNow' | 'caller'>) {
  const { store, caller } = deps;
  assertFresh(deps);
  const operator = caller?.kind === 'operator' ? await store.operator(caller.id) : undefined;
  if (!operator) throw new GatewayError('forbidden', 'Only operators have factors and sessions of their own.');
  const now = deps.realNow();
  const passkeys = await store.passkeysOfOperator(operator.id);
  const sessions = await store.sessionsOfOperator(operator.id, now - IDLE_MS);
  return { operator, passkeys, sessions: sessions.filter((session) => !isSessionOver(session, now)) };
}

/** Ends those of the caller's sessions that `isMeant` selects. */
export async function endOwnSessions(deps: OperatorDeps, isMeant: (session: OperatorSession) => boolean) {
  const { sessions } = await ownAccess(deps);
  const at = deps.realNow();
  await deps.store.commit(sessions.filter(isMeant).map((login) => ({ type: 'operator_session_ended', login, at })));
}

/** Removes one of the caller's passkeys. Throws GatewayError `invalid_state` if no factor would be left. */
export async function removePasskey(deps: OperatorDeps, id: string): Promise<void> {
  const { id: operatorId } = (await ownAccess(deps)).operator;
  const check = async (before: Operator) => {
    const passkeys = await deps.store.passkeysOfOperator(operatorId);
    if (!passkeys.some((each) => each.id === id)) throw new GatewayError('not_found', 'You have no such passkey.');
    if (passkeys.length > 1 || before.passwordHash !== null) return before;
    throw new GatewayError('invalid_state', 'This is your last passkey, and you have no password.', {
      suggestion: 'Add another passkey or a password first.',
    });
  };
  await changeOperator(deps, operatorId, check, [{ type: 'passkey_removed', id, operatorId }]);
}
