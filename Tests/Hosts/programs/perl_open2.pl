# IPC::Open2 and JSON::PP, both part of Perl.
use strict;
use warnings;
use IPC::Open2;
use JSON::PP;
$| = 1;
my ($number, $progress) = (0, 0);
my $pid = open2(my $out, my $in, $ENV{TOWLINE}, '--state-dir', $ENV{STATE});

sub call {
    my ($method, $params) = @_;
    my $id = ++$number;
    print $in encode_json({jsonrpc => '2.0', id => $id, method => $method, params => $params}), "\n";
    while (my $line = <$out>) {
        my $message = decode_json($line);
        if (exists $message->{method}) { $progress++ if $message->{method} eq 'progress'; next }
        return $message if $message->{id} == $id;
    }
    die 'the service ended';
}

my $answer = call('start', {id => 'disk', url => $ENV{URL}, path => $ENV{DESTINATION}});
print 'resumed ', ($answer->{result}{resumed} ? 'true' : 'false'), "\n";
sleep 1 while $ENV{MODE} eq 'hold';
if ($ENV{MODE} eq 'full') {
    while ($progress < 3) { call('ping', {}); select undef, undef, undef, 0.02 }
    print "progress $progress\n";
    print 'paused ', call('pause', {id => 'disk'})->{result}{download}{state}, "\n";
    print 'continued ', call('resume', {id => 'disk'})->{result}{download}{state}, "\n";
}
print 'error ', call('get', {id => 'nobody'})->{error}{code}, "\n";
print 'ended ', call('wait', {id => 'disk'})->{result}{download}{state}, "\n";
close $in;
waitpid $pid, 0;
print 'exit ', $? >> 8, "\n";
