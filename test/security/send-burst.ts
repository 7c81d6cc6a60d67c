import { type Socket, connect } from 'node:net';

/** Client program that sends many requests at once and reads no response. Arguments: port, connections, requests per connection. */
const [port, connections, copies] = process.argv.slice(2).map(Number) as [number, number, number];
const requests = 'GET /checkout/x HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'.repeat(copies);
const sockets: Socket[] = [];
let open = 0;
for (let index = 0; index < connections; index++) {
  const socket = connect(port, '127.0.0.1').pause();
  socket.on('error', () => {});
  socket.once('connect', () => {
    open += 1;
    if (open === connections) sendAll();
  });
  sockets.push(socket);
}

function sendAll(): void {
  for (const socket of sockets) socket.write(requests);
  process.stdout.write('sent\n');
}
