// @run on=sqlite,postgres needs=process
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { AuditEntry, CheckoutSession } from '../../sdk/src/index.ts';
import { createTestDatabase } from '../support/database.ts';
import { gatewayOf } from '../support/gateway.ts';
import { sessionBody } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { startServiceProgram, tillway } from './program.ts';

it('after kill -9 between requests and their answers, a change and its entry are both stored, or neither is', async () => {
  await using database = await createTestDatabase();
  const variables = { DATABASE_URL: database.url, HOST: '127.0.0.1' };
  const ids: string[] = [];
  {
    await using service = await startServiceProgram(variables);
    const api = gatewayOf(service);
    for (let count = 0; count < 60; count++) {
      ids.push((await api.post<CheckoutSession>('sessions', sessionBody())).id);
    }
    let answered = 0;
    const expire = async (id: string) => {
      const answer = await fetch(api.url(`sessions/${id}/expire`), { method: 'POST' }).catch(() => undefined);
      if (answer && ++answered === 10) service.signal('SIGKILL');
    };
    await Promise.all(ids.map(expire));
    assert.ok(answered >= 10);
    await service.exited;
  }
  await using service = await startServiceProgram(variables);
  const api = gatewayOf(service);
  const entries = await api.list<AuditEntry>('audit?limit=100');
  const expired = await api.list<CheckoutSession>('sessions?status=expired&limit=100');
  assert.ok(expired.length >= 10);
  assert.equal(entries.length, expired.length);
  assert.deepEqual(new Set(entries.map(({ subjectId }) => subjectId)), new Set(expired.map(({ id }) => id)));
  await assertSound(database.url);

  // A local command has an entry as well.
  const local = { DATABASE_URL: database.url };
  const { stdout } = await tillway(local, 'keys', 'create', '--name', 'First', '--scope', 'admin', '--json');
  const { id, key } = JSON.parse(stdout) as { id: string; key: string };
  await tillway(local, 'keys', 'revoke', id);
  const admin = JSON.parse(
    (await tillway(local, 'keys', 'create', '--name', 'Second', '--scope', 'admin', '--json')).stdout,
  ) as { key: string };
  const listed = await tillway(
    { TILLWAY_URL: service.url, TILLWAY_API_KEY: admin.key },
    'audit',
    'list',
    '--limit',
    '3',
  );
  assert.equal(listed.code, 0, listed.stderr);
  assert.match(
    listed.stdout,
    /local command +createApiKey.*\n.*local command +revokeApiKey.*\n.*local command +createApiKey/,
  );
  assert.ok(!listed.stdout.includes(key) && !listed.stdout.includes(admin.key));
});
