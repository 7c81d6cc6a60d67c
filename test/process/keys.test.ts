// @run needs=process
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contentsOf, createTestDatabase } from '../support/database.ts';
import { startServiceProgram, tillway } from './program.ts';
import { until } from '../support/until.ts';

async function statusOf(
  url: string,
  { headers = {}, ...init }: { headers?: Record<string, string>; method?: string; body?: string } = {},
): Promise<number> {
  const answer = await fetch(url, { ...init, headers: { ...headers, connection: 'close' } });
  await answer.arrayBuffer();
  return answer.status;
}

const KEY = /^sk_(?:sandbox|live)_[0-9A-Za-z]{43}$/gm;

describe('the commands of tillway keys', () => {
  it('tillway keys creates the first key before the first start, and creates, lists and revokes keys while the service runs', async () => {
    await using database = await createTestDatabase();
    const local = { DATABASE_URL: database.url };
    const created = await tillway(local, 'keys', 'create', '--name', 'First', '--scope', 'admin');
    assert.deepEqual([created.code, created.stderr], [0, ''], created.stderr);
    const [first = '', ...more] = created.stdout.match(KEY) ?? [];
    assert.deepEqual(more, []);
    assert.match(created.stdout, /^Database: .* \(created now\)\n/);
    assert.match(created.stdout, /The key is shown only now/);

    await using service = await startServiceProgram({ ...local, HOST: '127.0.0.1' });
    const sessions = (key: string) =>
      statusOf(`${service.url}/api/gateway/sessions`, { headers: { authorization: `Bearer ${key}` } });
    assert.equal(await statusOf(`${service.url}/api/gateway/sessions`), 401);
    assert.equal(await sessions(first), 200);

    const args = ['--name', 'Agent', '--scope', 'agent', '--spend-per-checkout', '50', '--json'];
    const { stdout, stderr } = await tillway(local, 'keys', 'create', ...args);
    assert.match(stderr, /^Database: (?!.*made)/);
    const agent = JSON.parse(stdout) as { key: string; id: string };
    const creates = (key: string) => {
      const body = JSON.stringify({ product: 'x', amount: 50.01, customer: 'a@example.com' });
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      return statusOf(`${service.url}/api/gateway/sessions`, { method: 'POST', headers, body });
    };
    assert.equal(await creates(agent.key), 403);

    const remote = { TILLWAY_URL: service.url, TILLWAY_API_KEY: first };
    const sessionList = await tillway(remote, 'sessions', 'list', '--json');
    assert.deepEqual([sessionList.code, sessionList.stderr], [0, '']);

    const revoked = await tillway(local, 'keys', 'revoke', agent.id);
    assert.match(revoked.stdout, new RegExp(`^Database: .*\\nRevoked: ${agent.id} \\(Agent\\)\\n$`));
    await until(
      async () => (await creates(agent.key)) === 401,
      () => 'the revoked key is still accepted',
    );

    const listed = await tillway(local, 'keys', 'list');
    assert.deepEqual([listed.code, listed.stdout.match(KEY)], [0, null]);
    assert.match(listed.stdout, /^key_\w+ +revoked +sandbox +agent /m);
    assert.match(listed.stdout, /^key_\w+ +active +sandbox +admin /m);
    for (const text of [service.stdout(), service.stderr(), await contentsOf(database.url)]) {
      for (const key of [first, agent.key]) assert.ok(!text.includes(key.slice(-43)));
    }
  });

  it('tillway keys rejects invalid options and unknown keys, and creates no database', async () => {
    await using database = await createTestDatabase();
    const local = { DATABASE_URL: database.url };
    const wrong: [args: string[], message: RegExp][] = [
      [['--scope', 'agent'], /--scope agent needs --spend-per-checkout, --spend-per-day or both/],
      [['--scope', 'write', '--spend-per-day', '5'], /apply only to keys with --scope agent/],
      [['--scope', 'agent', '--spend-per-day', '0'], /--spend-per-day takes more than 0/],
      [['--scope', 'owner'], /Allowed choices are read, write, admin, agent/],
    ];
    for (const [args, message] of wrong) {
      const { code, stderr } = await tillway(local, 'keys', 'create', '--name', 'x', ...args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    }
    for (const args of [['list'], ['revoke', 'key_gone']]) {
      const absent = await tillway(local, 'keys', ...args);
      assert.deepEqual([absent.code, absent.stdout], [1, ''], args.join(' '));
      assert.match(absent.stderr, /^tillway: The database could not be opened: DATABASE_URL /);
    }
    assert.equal((await tillway(local, 'migrate')).code, 0);
    const gone = await tillway(local, 'keys', 'revoke', 'key_gone');
    assert.equal(gone.code, 1);
    assert.match(gone.stderr, /No API key "key_gone" exists/);
    assert.equal((await tillway(local, 'keys')).stdout.split('\n')[1], 'None.');
  });
});
