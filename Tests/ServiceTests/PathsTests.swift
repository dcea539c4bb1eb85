import Testing

@testable import Service

@Suite struct PathsTests {
    @Test(arguments: [
        ("f", "/base/f"), ("./f", "/base/f"), ("../f", "/f"), ("../../../f", "/f"), ("/a/b", "/a/b"),
        ("/a//b///c", "/a/b/c"), ("/a/./b/../c", "/a/c"), ("/", "/"), ("/..", "/"), (".", "/base"), ("a/", "/base/a"),
        ("//a", "/a"), ("é/..", "/base"), ("...", "/base/..."),
    ])
    func `a path is made absolute and plain`(path: String, whole: String) {
        #expect(Paths.normalized(path, relativeTo: "/base") == whole)
    }

    @Test(arguments: ["", "a\0b"])
    func `what is no path stays out`(path: String) {
        #expect(Paths.normalized(path, relativeTo: "/base") == nil)
    }

    @Test(arguments: [
        ("f", true), ("a b", true), ("...", true), ("", false), (".", false), ("..", false), ("a/b", false),
    ])
    func `a component is one name`(name: String, isComponent: Bool) {
        #expect(Paths.isComponent(name) == isComponent)
    }

    @Test(arguments: [
        ("a/", true), ("a/.", true), ("..", true), ("a/..", true), ("a", false), ("a/b.", false), (".a", false),
    ])
    func `some texts can only mean a directory`(path: String, namesDirectory: Bool) {
        #expect(Paths.namesDirectory(path) == namesDirectory)
    }
}
