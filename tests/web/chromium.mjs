// Headless Chromium without traffic of its own, with a WebGPU in software.
import { chromium } from 'playwright-core';

const NO_TRAFFIC = ['--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];
const SOFTWARE_WEBGPU = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader',
  '--enable-features=Vulkan', '--use-vulkan=swiftshader', '--ignore-gpu-blocklist'];

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless=new', '--no-sandbox', ...NO_TRAFFIC, ...SOFTWARE_WEBGPU],
  });
