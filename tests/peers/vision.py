"""Checks Selene's images with OpenCV: depth by semi-global matching, calibration, rectification.

  vision.py stereo FOLDER B     left.png, right.png, depth.f32 (metres, row by row), camera.json
  vision.py calibrate FOLDER    chessboard_*.png, camera.json
  vision.py rectify FOLDER      {left,right}_{raw,rectified}_*.png, camera.json

prints one JSON object.
"""

import glob
import json
import os
import sys

import cv2
import numpy as np


def camera(folder):
    with open(os.path.join(folder, "camera.json")) as file:
        return json.load(file)


def stereo(folder):
    info = camera(folder)
    left, right = (cv2.imread(os.path.join(folder, side), cv2.IMREAD_GRAYSCALE) for side in ("left.png", "right.png"))
    truth = np.fromfile(os.path.join(folder, "depth.f32"), "<f4").reshape(left.shape)
    window = 7
    matcher = cv2.StereoSGBM_create(
        minDisparity=0, numDisparities=128, blockSize=window, P1=8 * window**2, P2=32 * window**2,
        disp12MaxDiff=1, uniquenessRatio=10, speckleWindowSize=100, speckleRange=2, mode=cv2.STEREO_SGBM_MODE_HH,
    )
    disparity = matcher.compute(left, right).astype(np.float64) / 16.0
    true = info["fx_px"] * info["baseline_m"] / truth
    # The matcher skips its first columns; a point must be in its range and within the right image.
    columns = np.arange(left.shape[1])
    can_match = np.isfinite(truth) & (true > 1.0) & (true < 127.0) & (columns >= 128) & (columns >= true)
    matched = (disparity > 1.0) & np.isfinite(truth)
    depth = info["fx_px"] * info["baseline_m"] / disparity[matched]
    errors = np.abs(depth - truth[matched]) / truth[matched]
    return {
        "median_error": float(np.median(errors)),
        "matched_share": float((matched & can_match).sum() / can_match.sum()),
        "off_share": float((np.abs(disparity - true)[matched] > 1.0).mean()),
        "nearest_m": float(truth[matched].min()),
        "farthest_m": float(truth[matched].max()),
    }


def calibrate(folder):
    info = camera(folder)
    size = (info["corners"][0], info["corners"][1])
    board = np.zeros((size[0] * size[1], 3), np.float32)
    board[:, :2] = np.mgrid[0 : size[0], 0 : size[1]].T.reshape(-1, 2) * info["square_m"]
    boards, corners, shape = [], [], None
    for path in sorted(glob.glob(os.path.join(folder, "chessboard_*.png"))):
        picture = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
        shape = picture.shape[::-1]
        flags = cv2.CALIB_CB_ACCURACY | cv2.CALIB_CB_NORMALIZE_IMAGE
        found, places = cv2.findChessboardCornersSB(picture, size, flags=flags)
        if found:
            boards.append(board)
            corners.append(places.reshape(-1, 1, 2))
    error, k, d, _, _ = cv2.calibrateCamera(boards, corners, shape, None, None)
    # Compares where both lenses map directions, in the part of the image that boards covered.
    true_k = np.array(info["k"]).reshape(3, 3)
    true_d = np.array(info["d"])
    seen = np.concatenate([places.reshape(-1, 2) for places in corners])
    rays = cv2.undistortPoints(seen.reshape(-1, 1, 2), true_k, true_d).reshape(-1, 2)
    space = np.column_stack([rays, np.ones(len(rays))])
    none = np.zeros(3)
    ours = cv2.projectPoints(space, none, none, true_k, true_d)[0].reshape(-1, 2)
    straight = cv2.projectPoints(space, none, none, true_k, np.zeros(5))[0].reshape(-1, 2)
    fitted = cv2.projectPoints(space, none, none, true_k, d)[0].reshape(-1, 2)
    most = np.linalg.norm(ours - straight, axis=1).max()
    return {
        "boards": len(boards),
        "reprojection_px": float(error),
        "k": k.flatten().tolist(),
        "distortion_most_px": float(most),
        "distortion_error_px": float(np.linalg.norm(ours - fitted, axis=1).max()),
    }


def rectify(folder):
    info = camera(folder)
    sides = ("left", "right")
    k, d, r, p = ({s: np.array(info[s][key]) for s in sides} for key in "kdrp")
    k, r = ({s: of[s].reshape(3, 3) for s in sides} for of in (k, r))
    p = {s: p[s].reshape(3, 4) for s in sides}
    shape, corners = tuple(info["size"]), tuple(info["corners"])
    turn, shift = (np.array(info["right_from_left"][key]).reshape(3, -1) for key in "rt")
    theirs = cv2.stereoRectify(
        k["left"], d["left"], k["right"], d["right"], shape, turn, shift, flags=cv2.CALIB_ZERO_DISPARITY
    )
    maps = {s: cv2.initUndistortRectifyMap(k[s], d[s], r[s], p[s][:, :3], shape, cv2.CV_32FC1) for s in sides}
    inside = {s: (x > 1) & (y > 1) & (x < shape[0] - 2) & (y < shape[1] - 2) for s, (x, y) in maps.items()}
    differences, rows, sizes = [], [], []
    for index in range(info["pictures"]):
        places = {}
        for s in sides:
            read = lambda what: cv2.imread(os.path.join(folder, f"{s}_{what}_{index:02}.png"), cv2.IMREAD_GRAYSCALE)
            ours, mapped = read("rectified"), cv2.remap(read("raw"), *maps[s], cv2.INTER_LINEAR)
            differences.append(cv2.absdiff(ours, mapped)[inside[s]])
            flags = cv2.CALIB_CB_ACCURACY | cv2.CALIB_CB_NORMALIZE_IMAGE
            found, places[s] = cv2.findChessboardCornersSB(ours, corners, flags=flags)
            if not found:
                break
        else:
            left, right = (places[s].reshape(-1, 2) for s in sides)
            rows.append(left[:, 1] - right[:, 1])
            space = cv2.triangulatePoints(p["left"], p["right"], left.T.astype(float), right.T.astype(float))
            space = (space[:3] / space[3]).T.reshape(corners[1], corners[0], 3)
            sizes.append(np.linalg.norm(np.diff(space, axis=1), axis=2).flatten())
    differences, sizes = np.concatenate(differences), np.concatenate(sizes)
    return {
        "boards": len(rows),
        "turn_error": float(max(np.abs(theirs[i] - r[s]).max() for i, s in enumerate(sides))),
        "baseline_m": float(-theirs[3][0, 3] / theirs[3][0, 0]),
        "inside_share": float(np.mean([inside[s].mean() for s in sides])),
        "grey_most": int(differences.max()),
        "row_median_px": float(np.median(np.abs(rows))),
        "row_mean_px": float(np.abs(np.mean(rows, axis=1)).max()),
        "square_m": float(np.median(sizes)),
    }


def main():
    what, folder = sys.argv[1:3]
    print(json.dumps({"stereo": stereo, "calibrate": calibrate, "rectify": rectify}[what](folder)))


main()
