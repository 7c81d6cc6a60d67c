import { fastify } from 'fastify';

// A Fastify server with one route, the baseline for start time and memory.
const app = fastify();
app.get('/healthz', async () => ({ ok: true }));
await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });
