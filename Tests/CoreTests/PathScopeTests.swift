import Core
import Testing

@Suite struct PathScopeTests {
    private static let scope = PathScope([
        PathScope.Root(path: "/a", realPath: "/data/a"), PathScope.Root(path: "/a/b/deep", realPath: "/a/b/deep"),
    ])

    @Test(arguments: [
        ("/a", "/data/a", ""), ("/a/b", "/data/a", "b"), ("/a//b/c", "/data/a", "b/c"), ("/data/a/f", "/data/a", "f"),
        ("/a/b/deep", "/a/b/deep", ""), ("/a/b/deep/f", "/a/b/deep", "f"), ("/a/b/deeper", "/data/a", "b/deeper"),
        ("/a/..b", "/data/a", "..b"),
    ])
    func `a path lies in the deepest root that holds it`(path: String, root: String, rest: String) {
        let found = Self.scope.locate(path)
        #expect(found?.root.realPath == root)
        #expect(found?.rest == rest)
        #expect(Self.scope.contains(path))
    }

    @Test(arguments: ["/ab", "/", "/b/a", "a", "/a/../c", "/a/b/..", "/a/../a/f", "", "/data", "/data/ab"])
    func `a path that lies in no root, or may leave it, is outside`(path: String) {
        #expect(!Self.scope.contains(path))
    }

    @Test func `without roots, and with all there is for a root, a path may lie anywhere`() {
        let all = PathScope([PathScope.Root(path: "/a", realPath: "/a"), PathScope.Root(path: "/", realPath: "/")])
        for scope in [PathScope.anywhere, all] {
            #expect(scope.isAnywhere)
            #expect(scope.contains("/x/../y"))
        }
    }
}
