-- quantiles.lua: for wrk -s: the latencies of a load, one `quantile PERCENT MICROSECONDS` line each.
function done(summary, latency)
	for _, p in ipairs({ 50, 90, 99, 99.9, 99.99 }) do
		io.write(string.format("quantile %g %d\n", p, latency:percentile(p)))
	end
end
