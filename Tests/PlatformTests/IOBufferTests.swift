import Platform
import Testing

@Suite struct IOBufferTests {
    @Test func `a buffer takes what fits and lends what it holds`() {
        let buffer = IOBuffer(capacity: 5)
        let bytes: [UInt8] = [1, 2, 3]
        #expect(bytes.withUnsafeBytes { buffer.append($0) } == 3)
        #expect(!buffer.isFull)
        #expect(bytes.withUnsafeBytes { buffer.append($0) } == 2)
        #expect(buffer.isFull)
        #expect(bytes.withUnsafeBytes { buffer.append($0) } == 0)
        #expect(buffer.withBytes { $0.withUnsafeBytes { Array($0) } } == [1, 2, 3, 1, 2])
        buffer.count = 0
        #expect(buffer.withBytes { $0.byteCount } == 0)
        #expect(UnsafeRawBufferPointer(start: nil, count: 0).isEmpty)
        #expect(buffer.append(UnsafeRawBufferPointer(start: nil, count: 0)) == 0)
    }
}
