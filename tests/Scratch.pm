# A folder for the files of a script, empty at its beginning and gone at its end. It has the same name in every run: simrun's cache knows
# a program by where its source lies, and has it from the run before and from the tests of other variants. Where the script runs already,
# it is another one.
package Scratch;
use strict;
use warnings;
use Cwd qw(abs_path);
use Digest::MD5 qw(md5_hex);
use Exporter qw(import);
use Fcntl qw(:flock O_RDWR O_CREAT O_NOFOLLOW);
use File::Path qw(remove_tree);
use File::Spec;
use File::Temp qw(tempdir);

our @EXPORT_OK = qw(scratch_folder);
my ($folder, $lock);
my $owner = $$;

# In the folder of temporary files, which is everybody's: it has to be ours, and nobody else's.
sub ours {
    my ($path) = @_;
    mkdir $path, 0700;
    my (undef, undef, $mode, undef, $user) = lstat $path;
    return -d _ && $user == $< && !($mode & 077);
}

# A file beside it, as simrun locks folders of its own accord; the one that is there still, once it is locked.
sub locked {
    my ($path) = @_;
    sysopen($lock, $path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600) && flock($lock, LOCK_EX | LOCK_NB) or return;
    my ($device, $number) = stat $lock;
    my ($there, $this) = lstat $path;
    return defined $there && $there == $device && $this == $number;
}

# Its name is as long as that of another one: what is said of a program is folded where it was.
sub scratch_folder {
    my $path = File::Spec->tmpdir . '/' . substr md5_hex("$< " . abs_path($0)), 0, 10;
    return tempdir(CLEANUP => 1) if !locked("$path.lock") || !ours($path);
    remove_tree($path, {keep_root => 1});
    return $folder = $path;
}

END {
    if ($folder && $$ == $owner) {
        my $status = $?;
        chdir '/';
        remove_tree($folder);
        unlink "$folder.lock";
        $? = $status;
    }
}

1;
