import type { ApiKey, KeyScope } from './api-key.ts';
import type { Operator } from './operator.ts';
import type { Role } from './permission.ts';
import type { Instant } from './records.ts';
import type { Environment } from './route.ts';

/** The person, key or machine that makes a request, with its role in the environment of the request. */
export interface Principal {
  /** `machine`: a person or program on this machine, while the service has neither a key nor an operator, or by a local command. */
  kind: 'key' | 'operator' | 'machine';
  /** Id of the key or of the operator; `machine` for this machine. */
  id: string;
  /** Name for a person: the name of the key, the email address of the operator. */
  name: string;
  environment: Environment;
  /** Null for agent keys, whose endpoints are limited by their scope. */
  role: Role | null;
  /** The API key of the request; null for other principals. */
  key: ApiKey | null;
  /** Time at which an operator last proved a factor; null for other principals. */
  provenAt: Instant | null;
}

const ROLE_OF_SCOPE: Record<KeyScope, Role | null> = { read: 'viewer', write: 'operator', admin: 'admin', agent: null };

export function principalOfKey(key: ApiKey): Principal {
  const { id, name, environment, scope } = key;
  return { kind: 'key', id, name, environment, role: ROLE_OF_SCOPE[scope], key, provenAt: null };
}

export function principalOfOperator(
  { id, email, roles }: Pick<Operator, 'id' | 'email' | 'roles'>,
  environment: Environment,
  provenAt: Instant | null,
): Principal {
  return { kind: 'operator', id, name: email, environment, role: roles[environment], key: null, provenAt };
}

/** The principal of this machine, which has all permissions. */
export function machinePrincipal(environment: Environment): Principal {
  const actor = { kind: 'machine', id: 'machine', name: 'this machine' } as const;
  return { ...actor, environment, role: 'admin', key: null, provenAt: null };
}
