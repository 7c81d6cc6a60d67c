import type { Config } from '../config.ts';
import { dashboardPages } from '../dashboard/dashboard.ts';
import type { DashboardSettings } from '../dashboard/visit.ts';
import { type AppDeps, createApp } from '../http/app.ts';
import { errorPages } from '../http/error-page.ts';
import { hostInUrl, listenAt } from './addresses.ts';

/** A listener for the dashboard alone, so that it can stay off the internet. */
export interface DashboardListener {
  /** URL of the listener without a trailing slash; undefined if the dashboard shares the service's listener. */
  url: string | undefined;
  close(): Promise<void>;
}

/** Settings of the dashboard on the listener of the service; undefined if it is disabled or has a listener of its own. */
export function sharedDashboard(config: Config): DashboardSettings | undefined {
  return config.dashboard.isEnabled && !config.dashboard.listener ? settingsOf(config) : undefined;
}

function settingsOf({ dashboard: { url, keys, isExposed }, exposedBy }: Config): DashboardSettings {
  return { url, keys, isExposed: isExposed || exposedBy !== undefined };
}

/** Opens the listener of DASHBOARD_PORT, if it is set. */
export async function listenForDashboard(deps: AppDeps, config: Config): Promise<DashboardListener> {
  const { isEnabled, listener } = config.dashboard;
  if (!listener || !isEnabled) return { url: undefined, close: () => Promise.resolve() };
  // The pages check the host name themselves.
  const own: AppDeps = { ...deps, dashboard: settingsOf(config), allowedHosts: undefined };
  const app = await createApp(own, [errorPages, dashboardPages]);
  const address = { setting: 'DASHBOARD_HOST', portSetting: 'DASHBOARD_PORT', ...listener };
  const port = await listenAt(app, address);
  return {
    url: `http://${hostInUrl(listener.host)}:${port}`,
    async close() {
      await app.close();
    },
  };
}
