import Foundation

extension HTTPAnswer {
  static func json(_ value: some Encodable, status: Int = 200) throws -> HTTPAnswer {
    .response(HTTPResponse(status, type: "application/json", Data(try JSONOutput.encode(value, pretty: false).utf8)))
  }
}
