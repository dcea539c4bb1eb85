<?php
// proc_open and json, both part of PHP.
$process = proc_open([getenv('TOWLINE'), '--state-dir', getenv('STATE')], [['pipe', 'r'], ['pipe', 'w'], STDERR], $pipes);
$number = 0;
$progress = 0;
function call(string $method, ?array $params = null): array
{
    global $pipes, $number, $progress;
    $id = ++$number;
    $request = ['jsonrpc' => '2.0', 'id' => $id, 'method' => $method, 'params' => $params];
    fwrite($pipes[0], json_encode($request) . "\n");
    while (($line = fgets($pipes[1])) !== false) {
        $message = json_decode($line, true);
        if (isset($message['method'])) {
            $progress += $message['method'] === 'progress' ? 1 : 0;
        } elseif ($message['id'] === $id) {
            return $message;
        }
    }
    exit('the service ended');
}
$answer = call('start', ['id' => 'disk', 'url' => getenv('URL'), 'path' => getenv('DESTINATION')]);
echo 'resumed ', json_encode($answer['result']['resumed']), "\n";
while (getenv('MODE') === 'hold') {
    sleep(1);
}
if (getenv('MODE') === 'full') {
    while ($progress < 3) {
        call('ping', []);
        usleep(20000);
    }
    echo "progress $progress\n";
    echo 'paused ', call('pause', ['id' => 'disk'])['result']['download']['state'], "\n";
    echo 'continued ', call('resume', ['id' => 'disk'])['result']['download']['state'], "\n";
}
echo 'error ', call('get', ['id' => 'nobody'])['error']['code'], "\n";
echo 'ended ', call('wait', ['id' => 'disk'])['result']['download']['state'], "\n";
fclose($pipes[0]);
while (fgets($pipes[1]) !== false);
echo 'exit ', proc_close($process), "\n";
