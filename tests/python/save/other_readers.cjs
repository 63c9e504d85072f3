// Reads models with protobuf.js (the package onnx-proto) and with the parser of Netron, and prints
// the initializers of each as JSON: by name, the type, the dims and the SHA-1 of raw_data.
//
// usage: node other_readers.cjs protobufjs|NETRON_FOLDER FILE...
"use strict";
const { createHash } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");

async function decoder(reader) {
  if (reader === "protobufjs") {
    const { onnx } = require("onnx-proto");
    return (data) => onnx.ModelProto.decode(data);
  }
  const at = (name) => import(pathToFileURL(join(reader, name)).href);
  const { BinaryReader } = await at("protobuf.js");
  const { onnx } = await at("onnx-proto.js");
  return (data) => onnx.ModelProto.decode(BinaryReader.open(data));
}

async function main([reader, ...files]) {
  const decode = await decoder(reader);
  const found = {};
  for (const file of files) {
    const model = decode(new Uint8Array(readFileSync(file)));
    found[file] = Object.fromEntries(
      model.graph.initializer.map((tensor) => [
        tensor.name,
        [
          tensor.data_type ?? tensor.dataType,
          tensor.dims.map(Number),
          createHash("sha1").update(tensor.raw_data ?? tensor.rawData ?? "").digest("hex"),
        ],
      ]),
    );
  }
  console.log(JSON.stringify(found));
}

main(process.argv.slice(2));
