/// File systems whose locks or memory maps may not work between machines: SQLite's WAL needs both.
///
/// FUSE counts as one of them, because the file system behind it is unknown.  C: statfs(2), linux/magic.h
package enum NetworkFileSystem: UInt32, CaseIterable, Sendable {
    case nfs = 0x6969
    case smb = 0x517b
    case smb2 = 0xfe53_4d42
    case cifs = 0xff53_4d42
    case fuse = 0x6573_5546
    case plan9 = 0x0102_1997
    case ceph = 0x00c3_6400
    case afs = 0x5346_414f
    case kafs = 0x6b41_4653
    case ncp = 0x564c
    case coda = 0x7375_7245
    case lustre = 0x0bd0_0bd0
    case gpfs = 0x4750_4653
    case ocfs2 = 0x7461_636f
    case gfs2 = 0x0116_1970
    case orangefs = 0x2003_0528
    case virtualBox = 0x786f_4256

    /// Nil for the magic number of a local file system.
    package init?(magic: Int64) {
        // f_type is signed and 32 bits wide on some machines.
        self.init(rawValue: UInt32(truncatingIfNeeded: magic))
    }
}
