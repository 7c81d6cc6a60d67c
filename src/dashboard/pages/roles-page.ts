import { PERMISSIONS, ROLES, STEP_UP, type Permission, can } from '../../domain/permission.ts';
import { html } from '../../html/html.ts';
import { table } from '../components/parts.ts';
import type { PageRoutes } from '../visit.ts';

/** The table of the permissions, which every visitor may read. */
export function rolesPage(routes: PageRoutes): void {
  const columns = [
    { name: 'Permission', cell: (permission: Permission) => html`<code>${permission}</code>` },
    ...ROLES.map((role) => ({
      name: role,
      cell: (permission: Permission) => (can({ role }, permission) ? 'yes' : 'no'),
    })),
    { name: 'Factor again', cell: (permission: Permission) => (STEP_UP.has(permission) ? 'yes' : 'no') },
  ];
  const permissions = Object.keys(PERMISSIONS) as Permission[];
  routes.get('/roles', async () => ({
    title: 'Roles',
    main: html`<p>An operator has one role in Test and one in Live. The role support refunds within a limit.</p>
      ${table('Permissions of the roles', columns, permissions)}`,
  }));
}
