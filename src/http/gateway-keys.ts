import assert from 'node:assert/strict';
import { API_KEY_ENDPOINTS, renderApiKey } from '../contract/api-key-contract.ts';
import { AUDIT_ENDPOINTS, renderAuditEntry } from '../contract/audit-contract.ts';
import { assertEnvironment } from '../operations/access/caller.ts';
import { createApiKey, listApiKeys, revokeApiKey } from '../operations/api-keys.ts';
import { listAudit } from '../operations/access/audit.ts';
import { centsOf } from '../operations/cents-of.ts';
import { apiPart, listing } from './api-part.ts';

const limitOf = (amount: number | undefined) => (amount === undefined ? null : centsOf(amount));

/** Endpoints of API keys and of the audit of their use. An admin key manages only the keys of its environment. */
export const apiKeysApi = apiPart((serve) => {
  serve(API_KEY_ENDPOINTS.createApiKey, async ({ deps, body }) => {
    const { caller } = deps;
    assert(caller, 'the endpoint requires a key');
    const { name, scope, environment = caller.environment } = body;
    assertEnvironment(deps, environment);
    const { text, ...made } = await createApiKey(deps, {
      name,
      scope,
      environment,
      spendPerCheckout: limitOf(body.spendPerCheckout),
      spendPerDay: limitOf(body.spendPerDay),
      source: 'api',
    });
    deps.log.info({ key: made.key.id, scope: made.key.scope, by: caller.id }, 'API key created');
    return { ...renderApiKey(made), key: text };
  });
  serve(API_KEY_ENDPOINTS.listApiKeys, listing(listApiKeys, renderApiKey));
  serve(API_KEY_ENDPOINTS.revokeApiKey, async ({ deps, param }) => {
    const revoked = await revokeApiKey(deps, param('keyId'));
    // Removes the key from this instance's cache at once. In other instances, the cached key expires.
    deps.gate.forget();
    deps.log.info({ key: revoked.key.id, by: deps.caller?.id }, 'API key revoked');
    return renderApiKey(revoked);
  });
  serve(AUDIT_ENDPOINTS.listAudit, listing(listAudit, renderAuditEntry));
});
