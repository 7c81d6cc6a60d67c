import { fastify } from 'fastify';

/** Fastify and nothing else. */
const app = fastify();
app.get('/healthz', async () => ({ ok: true }));
await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });
